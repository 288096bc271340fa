// The inner loops of element-wise kernels: one row of elements at a time.
//
// An input's step is 1, or 0 where one element serves for the whole row. The
// result may lie where an input of step 1 does.
#pragma once

#include <cstdint>

#include "rondo/tensor/dtype.h"

namespace rondo {

enum class UnaryOp : uint8_t {
  kNeg,
  kAbs,
  kSign,
  kExp,
  kLog,
  kLog1p,
  kSqrt,
  kRsqrt,
  kSquare,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kRound,
  kTanh,
  kSigmoid,
  kRelu,
  kLeakyRelu,
  kElu,
  kGelu,
  kGeluTanh,
  kSoftplus,
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMaximum,
  kMinimum,
  kSquaredDifference,
  // Of dy and of what the gradient's operation takes besides; both steps are 1.
  kSqrtGrad,
  kRsqrtGrad,
  kReluGrad,
  kLeakyReluGrad,
  kEluGrad,
  kGeluGrad,
  kGeluTanhGrad,
  kSigmoidGrad,
  kTanhGrad,
  kSoftplusGrad,
};

// y = op(x), n elements of `dtype`; alpha as LeakyRelu and Elu have it.
// Integers know only those from Neg to Square that their operation allows.
void unary_loop(UnaryOp op, DType dtype, const void* x, void* y, int64_t n,
                double alpha);

struct BinaryRow {
  const void* a;
  const void* b;
  void* out;
  int64_t a_step;
  int64_t b_step;
  int64_t n;
  double alpha = 0;
};
// out = a op b. Divisors of integers are not 0, and their exponents not
// negative.
void binary_loop(BinaryOp op, DType dtype, const BinaryRow& row);

// The same for each kind of element: f32 by Highway, the rest plain.
void unary_f32(UnaryOp op, const float* x, float* y, int64_t n, float alpha);
void binary_f32(BinaryOp op, const BinaryRow& row);
template <class T>  // double or an integer
void unary_plain(UnaryOp op, const T* x, T* y, int64_t n, double alpha);
template <class T>
void binary_plain(BinaryOp op, const BinaryRow& row);

// Between f16 or bf16 and f32.
void widen(DType from, const void* x, float* y, int64_t n);
void narrow(DType to, const float* x, void* y, int64_t n);

}  // namespace rondo
