// Lazy tensors: expressions that the server computes when they are asked for.
//
//   kiln::Tensor x = kiln::Tensor::FromHost<float>(session, {1, 2, 3, 4}, {2, 2});
//   kiln::Tensor y = kiln::Relu(kiln::Matmul(x, x) + 1.0);
//   absl::StatusOr<std::vector<float>> values = y.ToHost<float>();
//
// Nothing is sent until a tensor is realized (ToHost, Realize, a captured graph); then the whole
// expression goes as one graph, which the server fuses and compiles, or finds among those it has.
// Shapes, dtypes and broadcasting are the server's; so is what is wrong with them, which is said when
// a tensor is realized. The functions of the server's library (`Session::ListFunctions`) are called
// by name; functions.h has the everyday ones as C++ functions.
//
// A number in an expression has the dtype of the tensor beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "client/cpp/attribute.h"
#include "client/cpp/dtype.h"
#include "client/cpp/session.h"

namespace kiln {

namespace client {
struct TensorNode;
}

// What is known of a tensor that has been computed.
struct TensorInfo {
  v1::DType dtype = v1::DTYPE_UNSPECIFIED;
  std::vector<int64_t> dims;
  std::string device;  // Empty: the default one.

  int64_t elems() const;
  size_t bytes() const { return static_cast<size_t>(elems()) * SizeBytes(dtype); }
};

// Immutable; a copy stands for the same value. Thread-safe, but for the one exception that Assign
// makes: what was made of a tensor before it is assigned to and realized after it sees the new
// contents.
class Tensor {
 public:
  Tensor() = default;  // No tensor: may only be assigned to.

  // ** leaves **
  // The values in row-major order, as many as `dims` say, copied to the server. `device`: empty for
  // the default one.
  template <typename T>
  static Tensor FromHost(Session& session, const std::vector<T>& values, std::vector<int64_t> dims,
                         const std::string& device = "");
  // The same of raw bytes, which are read before it returns if they are few (max_inline_bytes), else
  // while the future is not done.
  static Tensor FromBytes(Session& session, absl::Span<const std::byte> bytes, TensorInfo info,
                          Future<void>* copied = nullptr);
  // What lies in a buffer.
  static Tensor FromBuffer(Session& session, Buffer buffer, TensorInfo info);
  // Stands for a tensor that is given later, to a captured graph (capture.h). Sizes may be variables.
  static Tensor Input(Session& session, Dims dims, v1::DType dtype, const std::string& device = "");

  // ** results **
  // Sends what computes it, unless that has been done; waits for nothing.
  absl::Status Realize() const;
  // Waits for the values. InvalidArgument if T does not hold its dtype.
  template <typename T>
  absl::StatusOr<std::vector<T>> ToHost() const;
  absl::StatusOr<std::vector<std::byte>> ToBytes() const;
  // Realizes; waits for the server to say what came out, unless that is known.
  absl::StatusOr<TensorInfo> Info() const;
  // Realizes. Its memory on the server.
  absl::StatusOr<Buffer> buffer() const;

  // A name for profiles and error messages: "layer1.conv". For a tensor not realized yet.
  Tensor Named(std::string label) const;

  bool is_set() const { return node_ != nullptr; }
  Session session() const;
  const std::shared_ptr<const client::TensorNode>& node() const { return node_; }
  explicit Tensor(std::shared_ptr<const client::TensorNode> node) : node_(std::move(node)) {}

 private:
  std::shared_ptr<const client::TensorNode> node_;
};

// Realizes several at once: what they share is computed once.
absl::Status Realize(absl::Span<const Tensor> tensors);

// ** the function library **
// `function` of the inputs, of which there is at least one; its output number `output`. An input that
// is no tensor (Tensor()) is left out.
Tensor Call(std::string_view function, std::vector<Tensor> inputs, Attributes attributes = {},
            uint32_t output = 0);
// A function without inputs: Create(session, "arange", {{"stop", 10}}).
Tensor Create(const Session& session, std::string_view function, Attributes attributes = {},
              uint32_t output = 0);

// d(sum(y * seed)) / dx for each x. Without a seed: ones.
std::vector<Tensor> Gradient(const Tensor& y, const std::vector<Tensor>& xs,
                             const Tensor& seed = Tensor());

// Writes `value` into the memory of `target` when realized; has the value written. `target` is a leaf
// with memory, or movements of one.
Tensor Assign(const Tensor& target, const Tensor& value);

// ** details **
absl::Status FitsDType(v1::DType wanted, v1::DType is);

template <typename T>
Tensor Tensor::FromHost(Session& session, const std::vector<T>& values, std::vector<int64_t> dims,
                        const std::string& device) {
  TensorInfo info = {.dtype = DTypeOf<T>(), .dims = std::move(dims), .device = device};
  if constexpr (std::is_same_v<T, bool>) {  // Packed in a std::vector.
    const std::vector<char> bytes(values.begin(), values.end());
    return FromBytes(session,
                     absl::MakeSpan(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()),
                     std::move(info));
  } else {
    return FromBytes(session,
                     absl::MakeSpan(reinterpret_cast<const std::byte*>(values.data()),
                                    values.size() * sizeof(T)),
                     std::move(info));
  }
}

template <typename T>
absl::StatusOr<std::vector<T>> Tensor::ToHost() const {
  absl::StatusOr<std::vector<std::byte>> bytes = ToBytes();
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<TensorInfo> info = Info();
  if (!info.ok()) return info.status();
  if (absl::Status fits = FitsDType(DTypeOf<T>(), info->dtype); !fits.ok()) return fits;
  const T* begin = reinterpret_cast<const T*>(bytes->data());
  return std::vector<T>(begin, begin + bytes->size() / sizeof(T));
}

}  // namespace kiln
