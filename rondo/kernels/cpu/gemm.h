// gemm: the product of two matrices, the loop under all of them.
#pragma once

#include <cstdint>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// c[m, n] = a[m, k] b[k, n], row-major; a transposed factor is stored as
// [k, m] or [n, k].
struct GemmShape {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool operator==(const GemmShape&) const = default;
};

// m, n and k of the matrices in the last two axes of a and b, of which `shape`
// says whether they are transposed; an error when they do not fit.
Status find_sides(const Tensor& a, const Tensor& b, GemmShape& shape);

// Whether oneDNN's matmul primitive is faster for f32 than its sgemm, which
// copies blocks of a transposed right factor against the cache when its rows
// are long.
bool suits_primitive(const GemmShape& shape);

// Of elements of `dtype`, which is any number. 16-bit floating point adds up in
// f32; integers wrap. Uses the calling thread's intra-op threads.
void gemm(DType dtype, const GemmShape& shape, const void* a, const void* b,
          void* c);

}  // namespace rondo
