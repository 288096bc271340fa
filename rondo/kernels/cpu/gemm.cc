#include "rondo/kernels/cpu/gemm.h"

#include <algorithm>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/matmul_primitive.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {
namespace {

// By a primitive; false where oneDNN has none for this processor.
bool gemm_primitive(const GemmShape& s, dnnl::memory::data_type type,
                    const void* a, const void* b, void* c) {
  const auto primitive = MatMulPrimitive::make(s, type);
  if (!primitive) return false;
  const Tensor workspace = Tensor::empty(
      {static_cast<int64_t>(primitive->workspace_bytes())}, DType::kU8);
  primitive->execute(a, b, nullptr, c, const_cast<void*>(workspace.data()));
  return true;
}

void gemm_f32(const GemmShape& s, const float* a, const float* b, float* c) {
  // A primitive takes some time to look up.
  if (suits_primitive(s) && s.m * s.n * s.k >= (1 << 25) &&
      gemm_primitive(s, dnnl::memory::data_type::f32, a, b, c))
    return;
  const auto status = dnnl_sgemm(
      s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, 1.0F,
      a, s.transpose_a ? s.m : s.k, b, s.transpose_b ? s.k : s.n, 0.0F, c, s.n);
  if (status != dnnl_success)
    throw Error(Code::kInternal, "oneDNN could not multiply matrices");
}

// [rows, columns] of `from`, which is stored transposed or not, as Acc.
template <class Acc, class T>
std::vector<Acc> packed(const T* from, int64_t rows, int64_t columns,
                        bool transposed) {
  std::vector<Acc> to(static_cast<size_t>(rows * columns));
  parallel_for(
      rows, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, columns)),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t j = 0; j < columns; ++j)
            to[static_cast<size_t>(i * columns + j)] = static_cast<Acc>(
                load(from[transposed ? j * rows + i : i * columns + j]));
      });
  return to;
}

// Rows [begin, end) of c. Within a block of b that stays in the cache, a row of
// c is a sum of rows of b.
template <class Acc>
void gemm_rows(const GemmShape& s, const Acc* a, const Acc* b, Acc* c,
               int64_t begin, int64_t end) {
  constexpr int64_t kInner = 64, kColumns = 256;
  std::fill(c + begin * s.n, c + end * s.n, Acc{0});
  for (int64_t k0 = 0; k0 < s.k; k0 += kInner)
    for (int64_t j0 = 0; j0 < s.n; j0 += kColumns) {
      const int64_t k1 = std::min(s.k, k0 + kInner);
      const int64_t columns = std::min(s.n - j0, kColumns);
      for (int64_t i = begin; i < end; ++i) {
        Acc* row = c + i * s.n + j0;
        for (int64_t k = k0; k < k1; ++k) {
          const Acc factor = a[i * s.k + k];
          const Acc* other = b + k * s.n + j0;
          for (int64_t j = 0; j < columns; ++j) row[j] += factor * other[j];
        }
      }
    }
}

template <class Acc, class T>
void gemm_plain(const GemmShape& s, const T* a, const T* b, T* c) {
  const auto pa = packed<Acc>(a, s.m, s.k, s.transpose_a);
  const auto pb = packed<Acc>(b, s.k, s.n, s.transpose_b);
  std::vector<Acc> pc(static_cast<size_t>(s.m * s.n));
  const int64_t grain = std::max<int64_t>(1, (1 << 16) / (s.n * s.k));
  parallel_for(s.m, grain, [&](int64_t begin, int64_t end) {
    gemm_rows(s, pa.data(), pb.data(), pc.data(), begin, end);
    for (int64_t i = begin * s.n; i < end * s.n; ++i)
      c[i] = store<T>(static_cast<Computed<T>>(pc[static_cast<size_t>(i)]));
  });
}

template <class T>
void gemm_widened(const GemmShape& s, const T* a, const T* b, T* c) {
  const auto pa = packed<float>(a, s.m, s.k, s.transpose_a);
  const auto pb = packed<float>(b, s.k, s.n, s.transpose_b);
  std::vector<float> pc(static_cast<size_t>(s.m * s.n));
  gemm_f32({.m = s.m, .n = s.n, .k = s.k}, pa.data(), pb.data(), pc.data());
  for (size_t i = 0; i < pc.size(); ++i) c[i] = store<T>(pc[i]);
}

template <class T>
void gemm_of(const GemmShape& s, const T* a, const T* b, T* c) {
  if constexpr (std::is_same_v<T, float>)
    gemm_f32(s, a, b, c);
  else if constexpr (std::is_same_v<T, double>)
    gemm_plain<double>(s, a, b, c);
  else if constexpr (std::is_same_v<T, int64_t>)
    gemm_plain<uint64_t>(s, a, b, c);
  else if constexpr (std::is_integral_v<T>)
    gemm_plain<uint32_t>(s, a, b, c);
  else if (std::is_same_v<T, Half> ||
           !gemm_primitive(s, dnnl::memory::data_type::bf16, a, b, c))
    gemm_widened(s, a, b, c);
}

}  // namespace

bool suits_primitive(const GemmShape& s) {
  return s.transpose_b && s.k >= 512 && s.m * s.n * s.k >= (1 << 21);
}

Status find_sides(const Tensor& a, const Tensor& b, GemmShape& s) {
  const Shape& x = a.shape();
  const Shape& y = b.shape();
  const int p = x.rank() - 1, q = y.rank() - 1;
  if (p < 1 || q < 1)
    return error(Code::kInvalidArgument, "{} and {} are not both matrices",
                 x.to_string(), y.to_string());
  s.m = s.transpose_a ? x[p] : x[p - 1];
  s.k = s.transpose_a ? x[p - 1] : x[p];
  s.n = s.transpose_b ? y[q - 1] : y[q];
  const int64_t rows = s.transpose_b ? y[q] : y[q - 1];
  if (s.k != rows)
    return error(Code::kInvalidArgument,
                 "{}{} and {}{} cannot be multiplied: the first has {} "
                 "columns, the second {} rows",
                 x.to_string(), s.transpose_a ? " transposed" : "",
                 y.to_string(), s.transpose_b ? " transposed" : "", s.k, rows);
  return {};
}

void gemm(DType dtype, const GemmShape& s, const void* a, const void* b,
          void* c) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) {
    std::memset(c, 0, static_cast<size_t>(s.m * s.n) * size_of(dtype));
    return;
  }
  dispatch_number(dtype, [&]<class T>() {
    gemm_of(s, static_cast<const T*>(a), static_cast<const T*>(b),
            static_cast<T*>(c));
  });
}

}  // namespace rondo
