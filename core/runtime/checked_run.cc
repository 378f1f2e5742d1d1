#include "core/runtime/checked_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/dtype/cast.h"
#include "core/dtype/status.h"
#include "core/runtime/bind.h"

namespace kiln::runtime {
namespace {

// How far two values of a dtype may be apart, relative to the largest value that the kernel reads
// or writes: sums are done in another order, and products fused into them.
double Tolerance(DType d) {
  switch (d) {
    case DType::kFloat64:
      return 1e-11;
    case DType::kFloat32:
      return 2e-5;
    case DType::kFloat16:
      return 4e-3;
    case DType::kBFloat16:
      return 3e-2;
    default:
      return 0.3;  // fp8
  }
}

Scalar ElementAt(const std::byte* data, int64_t i, DType d) {
  const int bytes = dtype::SizeBytes(d);
  uint64_t bits = 0;
  std::memcpy(&bits, data + i * bytes, static_cast<size_t>(bytes));
  return dtype::FromBits(bits, d);
}

// What the values at `i` are if they differ.
std::optional<std::string> Difference(const std::byte* got, const std::byte* want, int64_t i,
                                      DType d, double largest) {
  const Scalar a = ElementAt(got, i, d), b = ElementAt(want, i, d);
  if (a == b) return std::nullopt;
  if (!dtype::IsFloat(d)) return absl::StrCat(a.AsInt(), ", not ", b.AsInt());
  const double x = a.AsFloat(), y = b.AsFloat();
  if (x == y || (std::isnan(x) && std::isnan(y))) return std::nullopt;
  if (std::abs(x - y) <= Tolerance(d) * std::max(std::abs(y), largest)) return std::nullopt;
  return absl::StrCat(x, ", not ", y);
}

// The largest finite size of a value; 0 for other dtypes than floats.
double Largest(const BufferSlice& slice, DType d) {
  if (!dtype::IsFloat(d)) return 0;
  double largest = 0;
  for (int64_t i = 0; i < slice.bytes / dtype::SizeBytes(d); ++i) {
    const double v = std::abs(ElementAt(slice.host(), i, d).AsFloat());
    if (std::isfinite(v)) largest = std::max(largest, v);
  }
  return largest;
}

absl::Status Compare(const BufferSlice& got, const BufferSlice& want, DType d, double largest) {
  const int64_t elems = std::min(got.bytes, want.bytes) / dtype::SizeBytes(d);
  for (int64_t i = 0; i < elems; ++i) {
    if (auto difference = Difference(got.host(), want.host(), i, d, largest)) {
      return absl::InternalError(absl::StrCat("element ", i, " is ", *difference));
    }
  }
  return absl::OkStatus();
}

class Checker {
 public:
  Checker(const Plan& plan, const Bound& bound) : plan_(plan), bound_(bound) {}

  absl::Status Run() {
    KILN_RETURN_IF_ERROR(MakeArenas());
    for (const BufferSlice& slice : bound_.slices) {
      if (slice.buffer == nullptr) continue;
      KILN_RETURN_IF_ERROR(slice.buffer->hazards().AwaitReadable());
      slice.buffer->hazards().AwaitWritable();
    }
    for (const PlanItem& item : plan_.items) {
      if (const auto* launch = std::get_if<PlanLaunch>(&item)) {
        KILN_RETURN_IF_ERROR(RunLaunch(*launch));
      } else {
        const auto& copy = std::get<PlanCopy>(item);
        const int64_t bytes = ValueOf(copy.elems, bound_.scalars) * copy.elem_bytes;
        std::memmove(SliceOf(copy.to).host(), SliceOf(copy.from).host(),
                     static_cast<size_t>(bytes));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status MakeArenas() {
    for (size_t d = 0; d < plan_.devices.size(); ++d) {
      KILN_ASSIGN_OR_RETURN(arenas_.emplace_back(),
                            plan_.devices[d]->memory().Allocate(
                                std::max<int64_t>(plan_.arena_bytes[d], 1), BufferUse::kDevice));
    }
    return absl::OkStatus();
  }

  BufferSlice SliceOf(int32_t b) const {
    const PlanBuffer& buffer = plan_.buffers[b];
    if (buffer.kind != PlanBuffer::Kind::kTemporary) return bound_.slices[b];
    return {arenas_[buffer.device].get(), buffer.offset, buffer.bytes};
  }

  absl::Status RunLaunch(const PlanLaunch& launch) {
    const Executable& kernel = *launch.executable;
    Device& reference = *launch.reference_device;
    std::vector<BufferSlice> slices, copies;
    std::vector<std::unique_ptr<Buffer>> owned;
    for (int32_t b : launch.buffers) {
      slices.push_back(SliceOf(b));
      const int64_t bytes = slices.back().bytes;
      KILN_ASSIGN_OR_RETURN(
          owned.emplace_back(),
          reference.memory().Allocate(std::max<int64_t>(bytes, 1), BufferUse::kDevice));
      if (bytes > 0) std::memcpy(owned.back()->host(), slices.back().host(), bytes);
      copies.push_back({owned.back().get(), 0, bytes});
    }
    std::vector<int64_t> values;
    for (int32_t v : launch.variables) values.push_back(bound_.variables[v]);
    Device& device = *plan_.devices[plan_.buffers[launch.buffers[0]].device];
    KILN_RETURN_IF_ERROR(RunOne(device, kernel, slices, values));
    KILN_RETURN_IF_ERROR(RunOne(*launch.reference_device, *launch.reference, copies, values));
    const std::vector<codegen::ProgramBuffer>& buffers = kernel.signature().buffers;
    double largest = 0;
    for (size_t i = 0; i < copies.size(); ++i) {
      largest = std::max(largest, Largest(copies[i], buffers[i].dtype));
    }
    for (int32_t i = 0; i < launch.num_written; ++i) {
      KILN_RETURN_IF_ERROR(Compare(slices[i], copies[i], buffers[i].dtype, largest))
          << "kernel \"" << kernel.signature().name << "\", buffer " << i << ", on "
          << device.name();
    }
    return absl::OkStatus();
  }

  static absl::Status RunOne(Device& device, const Executable& kernel,
                             absl::Span<const BufferSlice> slices,
                             absl::Span<const int64_t> values) {
    auto list = std::make_shared<CommandList>();
    list->Exec(kernel, slices, values);
    auto outcome = std::make_shared<Outcome>();
    const Point point = device.queue(QueueKind::kCompute).Submit({}, std::move(list), outcome);
    return Await({point, std::move(outcome)});
  }

  const Plan& plan_;
  const Bound& bound_;
  std::vector<std::unique_ptr<Buffer>> arenas_;  // By device.
};

}  // namespace

absl::StatusOr<RunResult> CheckedRun(const Plan& plan, const RunArgs& args) {
  KILN_ASSIGN_OR_RETURN(Bound bound, Bind(plan, args));
  KILN_RETURN_IF_ERROR(Checker(plan, bound).Run());
  RunResult result = {.outputs = std::move(bound.outputs), .peak_bytes = bound.output_bytes};
  for (int64_t bytes : plan.arena_bytes) result.peak_bytes += bytes;
  return result;
}

}  // namespace kiln::runtime
