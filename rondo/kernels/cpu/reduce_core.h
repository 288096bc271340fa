// ReduceCore: how one reduction combines elements of one type.
//
// A total is a double for floating-point elements and an int64_t for integers
// and bool: wider than the elements, so that sums of many keep their precision.
#pragma once

#include <cstdint>

#include "rondo/tensor/dtype.h"

namespace rondo {

enum class Reduce : uint8_t {
  kSum,
  kSumSquares,
  kProd,
  kMax,
  kMin,
  kAllTrue,
  kAnyTrue,
};

struct ReduceCore {
  // Sets n totals to what no elements give.
  void (*clear)(void* totals, int64_t n);
  // *total = *total op x[0] op … op x[n - 1].
  void (*row)(const void* x, int64_t n, void* total);
  // totals[k] = totals[k] op x[k] op x[stride + k] op …, for `rows` rows and k
  // in [0, n). n is at most kMaxColumns.
  void (*columns)(const void* x, int64_t rows, int64_t stride, int64_t n,
                  void* totals);
  // totals[k] = totals[k] op more[k].
  void (*combine)(void* totals, const void* more, int64_t n);
  // out[k] = totals[k] * scale, or totals[k] / divisor for integers.
  void (*finish)(const void* totals, int64_t n, double scale, int64_t divisor,
                 void* out);
};
inline constexpr int64_t kMaxColumns = 1024;

// For f64, f32, integers and bool; f16 and bf16 are widened before.
ReduceCore reduce_core(Reduce op, DType dtype);

// The loops over f32, which have vectors. `row` gives what the elements alone
// give; columns_f32 adds to what `acc` has.
double row_f32(Reduce op, const float* x, int64_t n);
void columns_f32(Reduce op, const float* x, int64_t rows, int64_t stride,
                 int64_t n, float* acc);

}  // namespace rondo
