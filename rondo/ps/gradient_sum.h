// GradientSum: the gradients of several workers as one.
#pragma once

#include <span>
#include <vector>

#include "rondo/tensor/reduce.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// Of all elements, or of rows.
struct KvGradient {
  Tensor values;   // all elements, or [rows, width]
  Tensor indices;  // i64, of the rows
  bool by_rows = false;
};

// Their mean, summed in the order given. Rows that come several times become
// one; what is of rows comes out in the order of rows. All are of one kind,
// type and width.
KvGradient mean_of(std::span<const KvGradient> gradients);

// The sum or mean of what is of all elements, in memory of its own.
KvGradient reduced(ReduceOp op, std::span<const KvGradient> gradients);

}  // namespace rondo
