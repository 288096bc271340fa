// Reduction loops: element-wise operators over arrays, vectorised with Highway
// and dispatched to the machine's best instruction set at run time.
//
// 16-bit floating-point types are computed in fp32 and rounded when stored.
// bool: sum, max and bor are "or"; prod, min and band are "and"; bxor is "xor".
// min and max of floating-point numbers give NaN when an operand is NaN.
// Integers wrap around.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/tensor/dtype.h"

namespace rondo {

// The numbers are part of the wire format and of the C API and never change.
enum class ReduceOp : uint8_t {
  kSum = 0,
  kAvg = 1,  // sum, then divided by the number of ranks (see finish_avg)
  kProd = 2,
  kMin = 3,
  kMax = 4,
  kBand = 5,
  kBor = 6,
  kBxor = 7,
  kUser = 8,  // a function of the caller's
};

// "sum", "avg", "prod", "min", "max", "band", "bor", "bxor", "user".
RONDO_API std::string_view name_of(ReduceOp op);
RONDO_API std::optional<ReduceOp> reduce_op_from_name(std::string_view name);

// Whether `op` is defined for `dtype`: bitwise operators need integers or bool,
// avg does not exist for bool. The error says which operators would work.
RONDO_API Status check_reduce(ReduceOp op, DType dtype);

// acc[i] = acc[i] op in[i] for i in [0, count). kAvg adds. The ranges are
// disjoint. Not for kUser. check_reduce(op, dtype) must be ok.
void reduce(ReduceOp op, DType dtype, void* acc, const void* in, size_t count);

// out[j][i] = in[0][i] op in[1][i] op ... for every j and every i in [0,
// count): each source is read once, the result is formed in registers and
// stored to each destination. Operands are combined in the order of `in`, so
// the result does not depend on who calls. A destination may be the same array
// as a source; partial overlap is not allowed. kAvg also divides by `ranks`
// before storing (the same arithmetic as finish_avg). `streaming` stores past
// the caches (non-temporal), for results larger than them; ordered before
// anything that the caller publishes afterwards (a store fence is included).
// Destinations that are sources too, or that are aligned differently from
// out[0], are stored normally all the same. in.size() >= 1, out.size() >= 1.
// Not for kUser.
void reduce_many(ReduceOp op, DType dtype, std::span<void* const> out,
                 std::span<const void* const> in, size_t count, int ranks,
                 bool streaming);

// data[i] = data[i] / ranks: what kAvg does after the sum. Floating-point types
// multiply by 1/ranks in fp32 (f64: in f64); integers divide towards zero.
void finish_avg(DType dtype, void* data, size_t count, int ranks);

// memcpy; `streaming` as in reduce_many.
void copy_bytes(void* to, const void* from, size_t bytes, bool streaming);

}  // namespace rondo
