#include "tests/conformance/conformance.h"

#include <cstring>
#include <utility>

#include "core/dtype/cast.h"
#include "core/dtype/status.h"

namespace kiln::conformance {

using runtime::BufferSlice;

Bytes ToBytes(DType d, absl::Span<const Scalar> values) {
  const size_t size = static_cast<size_t>(dtype::SizeBytes(d));
  Bytes bytes(size * values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = dtype::ToBits(values[i], d);  // Little-endian.
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

Scalar ValueAt(const Bytes& bytes, DType d, size_t i) {
  const size_t size = static_cast<size_t>(dtype::SizeBytes(d));
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * size, size);
  return dtype::FromBits(bits, d);
}

std::vector<Scalar> ValuesOf(const Bytes& bytes, DType d) {
  std::vector<Scalar> values(bytes.size() / static_cast<size_t>(dtype::SizeBytes(d)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = ValueAt(bytes, d, i);
  return values;
}

namespace {
template <typename T>
Bytes Copy(absl::Span<const T> values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> Copy(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}
}  // namespace

Bytes ToBytes(absl::Span<const float> values) { return Copy(values); }
Bytes ToBytes(absl::Span<const int32_t> values) { return Copy(values); }
std::vector<float> FloatsOf(const Bytes& bytes) { return Copy<float>(bytes); }
std::vector<int32_t> IntsOf(const Bytes& bytes) { return Copy<int32_t>(bytes); }

runtime::Registry& ConformanceTest::registry() {
  static auto* const registry = [] {
    auto* r = new runtime::Registry();
    KILN_EXPECT_OK(TheSubject().register_backend(*r));
    return r;
  }();
  return *registry;
}

void ConformanceTest::SetUp() {
  const ::testing::TestInfo& info = *::testing::UnitTest::GetInstance()->current_test_info();
  const std::string suite = info.test_suite_name();
  for (const std::string& name : {suite + ".*", suite + "." + info.name()}) {
    const auto found = TheSubject().exceptions.find(name);
    if (found != TheSubject().exceptions.end()) GTEST_SKIP() << found->second;
  }
  KILN_ASSERT_OK_AND_ASSIGN(device_, registry().Get(TheSubject().device));
}

absl::StatusOr<std::shared_ptr<const runtime::Executable>> ConformanceTest::Build(
    const codegen::Program& program) {
  KILN_ASSIGN_OR_RETURN(const std::string object, device().Compile(program));
  return device().Load(object, runtime::SignatureOf(program));
}

absl::Status ConformanceTest::RunList(std::shared_ptr<runtime::CommandList> list) {
  auto outcome = std::make_shared<runtime::Outcome>();
  const runtime::Point done =
      device().queue(runtime::QueueKind::kCompute).Submit({}, std::move(list), outcome);
  return runtime::Await({done, outcome});
}

std::unique_ptr<runtime::Buffer> ConformanceTest::Upload(const Bytes& bytes) {
  const int64_t size = static_cast<int64_t>(bytes.size());
  auto buffer = device().memory().Allocate(std::max<int64_t>(size, 1), runtime::BufferUse::kDevice);
  if (!buffer.ok()) {
    ADD_FAILURE() << buffer.status();
    return nullptr;
  }
  if ((*buffer)->host() != nullptr) {
    std::memcpy((*buffer)->host(), bytes.data(), bytes.size());
    return *std::move(buffer);
  }
  auto staging = device().memory().Allocate(size, runtime::BufferUse::kStaging);
  if (!staging.ok()) {
    ADD_FAILURE() << staging.status();
    return nullptr;
  }
  std::memcpy((*staging)->host(), bytes.data(), bytes.size());
  auto list = std::make_shared<runtime::CommandList>();
  list->Copy({buffer->get(), 0, size}, {staging->get(), 0, size});
  KILN_EXPECT_OK(RunList(list));
  return *std::move(buffer);
}

Bytes ConformanceTest::Download(runtime::Buffer& buffer) {
  Bytes bytes(static_cast<size_t>(buffer.bytes()));
  if (buffer.host() != nullptr) {
    std::memcpy(bytes.data(), buffer.host(), bytes.size());
    return bytes;
  }
  auto staging = device().memory().Allocate(buffer.bytes(), runtime::BufferUse::kStaging);
  if (!staging.ok()) {
    ADD_FAILURE() << staging.status();
    return bytes;
  }
  auto list = std::make_shared<runtime::CommandList>();
  list->Copy({staging->get(), 0, buffer.bytes()}, {&buffer, 0, buffer.bytes()});
  KILN_EXPECT_OK(RunList(list));
  std::memcpy(bytes.data(), (*staging)->host(), bytes.size());
  return bytes;
}

absl::StatusOr<std::vector<Bytes>> ConformanceTest::Run(const codegen::Program& program,
                                                        const std::vector<Bytes>& buffers,
                                                        absl::Span<const int64_t> variables) {
  KILN_ASSIGN_OR_RETURN(const std::shared_ptr<const runtime::Executable> kernel, Build(program));
  std::vector<std::unique_ptr<runtime::Buffer>> memory;
  std::vector<BufferSlice> slices;
  for (const Bytes& bytes : buffers) {
    memory.push_back(Upload(bytes));
    if (memory.back() == nullptr) return absl::InternalError("no memory");
    slices.push_back({memory.back().get(), 0, static_cast<int64_t>(bytes.size())});
  }
  auto list = std::make_shared<runtime::CommandList>();
  list->Exec(*kernel, slices, variables);
  KILN_RETURN_IF_ERROR(RunList(list));
  std::vector<Bytes> results;
  for (size_t i = 0; i < buffers.size(); ++i) {
    results.push_back(Download(*memory[i]));
    results.back().resize(buffers[i].size());
  }
  return results;
}

}  // namespace kiln::conformance
