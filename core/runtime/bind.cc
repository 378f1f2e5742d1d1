#include "core/runtime/bind.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/dtype/status.h"
#include "core/runtime/graph_runner.h"

namespace kiln::runtime {
namespace {

// Memory that a run uses, for finding out whether any is used twice.
struct Extent {
  const Buffer* buffer;
  int64_t begin, end;
  bool written;
  int64_t slot;  // Of the input; outputs: -1 - position.

  std::string Name() const {
    return slot >= 0 ? absl::StrCat("input ", slot) : absl::StrCat("output ", -1 - slot);
  }
};

class Binder {
 public:
  Binder(const Plan& plan, const RunArgs& args) : plan_(plan), args_(args) {}

  absl::StatusOr<Bound> Run() {
    KILN_RETURN_IF_ERROR(BindVariables());
    KILN_ASSIGN_OR_RETURN(out_.scalars, plan_.scalars.Evaluate(out_.variables));
    for (const PlanCondition& condition : plan_.conditions) {
      if (ValueOf(condition.holds, out_.scalars) == 0) return Refused(condition);
    }
    out_.slices.resize(plan_.buffers.size());
    out_.owners.reserve(plan_.inputs.size() + plan_.outputs.size());
    KILN_RETURN_IF_ERROR(BindInputs());
    KILN_RETURN_IF_ERROR(BindOutputs());
    KILN_RETURN_IF_ERROR(CheckExtents());
    return std::move(out_);
  }

 private:
  absl::Status BindVariables() {
    for (const PlanVariable& v : plan_.variables) {
      const auto found = args_.variables.find(v.name);
      if (found == args_.variables.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "variable \"", v.name, "\" has no value; it is in [", v.min, ", ", v.max, "]"));
      }
      if (found->second < v.min || found->second > v.max) {
        return absl::InvalidArgumentError(absl::StrCat(
            "variable \"", v.name, "\" is ", found->second, ", not in [", v.min, ", ", v.max, "]"));
      }
      out_.variables.push_back(found->second);
    }
    return absl::OkStatus();
  }

  absl::Status Refused(const PlanCondition& condition) const {
    std::vector<std::string> values;
    for (size_t i = 0; i < plan_.variables.size(); ++i) {
      values.push_back(absl::StrCat(plan_.variables[i].name, " = ", out_.variables[i]));
    }
    return absl::InvalidArgumentError(absl::StrCat("the shapes of the graph need ", condition.text,
                                                   ", which does not hold for ",
                                                   absl::StrJoin(values, ", ")));
  }

  // Bytes of a tensor with these dims.
  absl::StatusOr<int64_t> BytesOf(absl::Span<const SymbolicInt> dims, DType dtype) const {
    int64_t bytes = dtype::SizeBytes(dtype);
    for (const SymbolicInt& dim : dims) {
      const int64_t size = ValueOf(dim, out_.scalars);
      if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
        return absl::InvalidArgumentError(absl::StrCat("a tensor with an axis of size ", size));
      }
    }
    return bytes;
  }

  // Checks that `binding` has room for `bytes` on a device.
  absl::Status CheckMemory(const Binding& binding, int64_t bytes, int32_t device) const {
    if (binding.buffer == nullptr) return absl::InvalidArgumentError("has no buffer");
    const Device& wanted = *plan_.devices[static_cast<size_t>(device)];
    const Device& has = binding.buffer->device();
    if (&has != &wanted) {
      return absl::InvalidArgumentError(
          absl::StrCat("its buffer is on ", has.name(), ", the graph needs it on ", wanted.name()));
    }
    const int64_t room = binding.buffer->bytes() - binding.offset;
    if (binding.offset < 0 || room < bytes) {
      return absl::InvalidArgumentError(absl::StrCat("its buffer has ", binding.buffer->bytes(),
                                                     " bytes, the graph needs ", bytes,
                                                     " from offset ", binding.offset));
    }
    if (binding.bytes.has_value() && *binding.bytes < bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has ", *binding.bytes, " bytes, the graph needs ", bytes));
    }
    const int64_t alignment = binding.buffer->device().memory().Limits().alignment;
    if (binding.offset % alignment != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("offset ", binding.offset, " is not a multiple of ", alignment));
    }
    return absl::OkStatus();
  }

  static const Binding* Find(absl::Span<const Binding> bindings, int64_t slot, size_t guess) {
    if (guess < bindings.size() && bindings[guess].slot == slot) return &bindings[guess];
    for (const Binding& b : bindings) {
      if (b.slot == slot) return &b;
    }
    return nullptr;
  }

  absl::Status BindInputs() {
    std::vector<BufferSlice> slices(plan_.inputs.size());
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const PlanInput& input = plan_.inputs[i];
      if (!input.is_used) continue;
      const Binding* binding = Find(args_.inputs, input.slot, i);
      if (binding == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("input ", input.slot, " has no buffer"));
      }
      KILN_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(input.dims, input.dtype));
      if (absl::Status s = CheckMemory(*binding, bytes, input.device); !s.ok()) {
        return absl::Status(s.code(), absl::StrCat("input ", input.slot, ": ", s.message()));
      }
      slices[i] = {binding->buffer.get(), binding->offset, bytes};
      out_.owners.push_back(binding->buffer);
      extents_.push_back({binding->buffer.get(), binding->offset, binding->offset + bytes,
                          input.is_written, input.slot});
      any_written_ |= input.is_written;
    }
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.kind == PlanBuffer::Kind::kInput) out_.slices[b] = slices[buffer.input];
    }
    return absl::OkStatus();
  }

  absl::Status BindOutputs() {
    owner_.resize(plan_.buffers.size());
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      const PlanOutput& output = plan_.outputs[i];
      Tensor tensor = {.dtype = output.dtype};
      for (const SymbolicInt& dim : output.dims) {
        tensor.dims.push_back(ValueOf(dim, out_.scalars));
      }
      KILN_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(output.dims, output.dtype));
      BufferSlice& slice = out_.slices[output.buffer];
      // Outputs that share memory are equal, so the first one's size is the size of all.
      if (slice.buffer == nullptr) {
        const Binding* binding = Find(args_.outputs, static_cast<int64_t>(i), i);
        KILN_ASSIGN_OR_RETURN(slice, BindOutput(i, output, bytes, binding));
        owner_[output.buffer] = out_.owners.size() - 1;
      }
      tensor.buffer = out_.owners[owner_[output.buffer]];
      tensor.offset = slice.offset;
      out_.outputs.push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<BufferSlice> BindOutput(size_t position, const PlanOutput& output, int64_t bytes,
                                         const Binding* binding) {
    const int32_t device = plan_.buffers[output.buffer].device;
    if (binding == nullptr) {
      KILN_ASSIGN_OR_RETURN(
          std::shared_ptr<Buffer> buffer,
          plan_.devices[device]->memory().Allocate(std::max<int64_t>(bytes, 1), BufferUse::kDevice),
          _ << "for output " << position);
      out_.output_bytes += bytes;
      out_.owners.push_back(buffer);
      return BufferSlice{buffer.get(), 0, bytes};
    }
    if (absl::Status s = CheckMemory(*binding, bytes, device); !s.ok()) {
      return absl::Status(s.code(), absl::StrCat("output ", position, ": ", s.message()));
    }
    out_.owners.push_back(binding->buffer);
    extents_.push_back({binding->buffer.get(), binding->offset, binding->offset + bytes, true,
                        -1 - static_cast<int64_t>(position)});
    any_written_ = true;
    return BufferSlice{binding->buffer.get(), binding->offset, bytes};
  }

  // What is written is bound to nothing else. (New buffers for outputs can't be.)
  absl::Status CheckExtents() {
    if (!any_written_) return absl::OkStatus();
    std::sort(extents_.begin(), extents_.end(), [](const Extent& a, const Extent& b) {
      return std::pair(a.buffer, a.begin) < std::pair(b.buffer, b.begin);
    });
    const Extent* reaches = nullptr;          // Of this buffer so far, the one that ends last.
    const Extent* written_reaches = nullptr;  // The same of those that are written.
    for (const Extent& e : extents_) {
      if (e.begin == e.end) continue;
      if (reaches != nullptr && reaches->buffer != e.buffer) reaches = written_reaches = nullptr;
      const Extent* other = e.written ? reaches : written_reaches;
      if (other != nullptr && e.begin < other->end) {
        return absl::InvalidArgumentError(absl::StrCat(e.Name(), " and ", other->Name(),
                                                       " are the same memory, which is written"));
      }
      if (reaches == nullptr || e.end > reaches->end) reaches = &e;
      if (e.written && (written_reaches == nullptr || e.end > written_reaches->end)) {
        written_reaches = &e;
      }
    }
    return absl::OkStatus();
  }

  const Plan& plan_;
  const RunArgs& args_;
  Bound out_;
  std::vector<size_t> owner_;  // By buffer of the plan, if it is an output: index into owners.
  std::vector<Extent> extents_;
  bool any_written_ = false;
};

}  // namespace

absl::StatusOr<Bound> Bind(const Plan& plan, const RunArgs& args) {
  return Binder(plan, args).Run();
}

}  // namespace kiln::runtime
