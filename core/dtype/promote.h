// Which dtype an operation on mixed dtypes computes in.
//
//   bool < int8 < int16 < int32 < int64 < fp8 < float16 | bfloat16 < float32 < float64
//   bool < uint8 < uint16 < uint32 < uint64 < fp8, each also below the next wider signed type
//
// A float with an integer gives that float, however narrow, as in PyTorch and JAX.
#pragma once

#include "absl/types/span.h"

#include "core/dtype/dtype.h"

namespace kiln::dtype {

// The least dtype of the lattice to which all convert, whatever their order. There is no least one
// in two cases:
// - fp8e4m3 with fp8e5m2 gives float16, which holds all values of both;
// - signed integers with uint64 give float32, the default float: the lowest in the lattice, fp8,
//   could not even count to 20.
// Index counts as int64, except that index alone stays index.
// Pre: none is void; `all` is not empty.
DType LeastUpperDType(absl::Span<const DType> all);
DType LeastUpperDType(DType a, DType b);

// Whether a cast from `from` to `to` keeps every value, and a cast back is the identity. Index
// counts as int64. fp8e5m2 casts losslessly only to itself: its infinities would come back as the
// largest finite value. Pre: neither is void.
bool IsLosslessCast(DType from, DType to);

}  // namespace kiln::dtype
