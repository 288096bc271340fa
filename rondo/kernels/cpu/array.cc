#include <algorithm>
#include <cstring>

#include "rondo/kernels/cpu/array_parts.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/kernels/cpu/register.h"

namespace rondo {
namespace array {

FewInts ints_of(const Tensor& t) {
  if (t.dtype() == DType::kI32) {
    const auto from = t.span<int32_t>();
    return {from.begin(), from.end()};
  }
  const auto from = t.span<int64_t>();
  return {from.begin(), from.end()};
}

Result<Shape> shape_of(const Tensor& extents) {
  const FewInts ints = ints_of(extents);
  for (const int64_t extent : ints)
    if (extent < 0)
      return error(Code::kInvalidArgument,
                   "an extent of the shape is {}, expected 0 or more", extent);
  return Shape(ints);
}

AxisView view_of(const Shape& shape, int axis) {
  AxisView view;
  for (int i = 0; i < shape.rank(); ++i)
    (i < axis ? view.outer : i == axis ? view.extent : view.inner) *= shape[i];
  return view;
}

Result<int> axis_of(const Node& node, int rank) {
  return resolve_axis(node.attrs().get<int64_t>("axis"), rank);
}

Shape with_extent(const Shape& shape, int axis, int64_t extent) {
  FewInts extents(shape.extents().begin(), shape.extents().end());
  extents[static_cast<size_t>(axis)] = extent;
  return Shape(extents);
}

std::string place_of(const Shape& shape, int64_t k) {
  std::string text;
  for (int i = shape.rank(); i-- > 0;) {
    text = fmt::format("{}{}{}", k % shape[i], text.empty() ? "" : ", ", text);
    k /= shape[i];
  }
  return shape.rank() == 0 ? "" : "[" + text + "]";
}

Tensor as_i64(KernelContext& c, int i) {
  const Tensor& indices = c.input(i);
  if (indices.dtype() == DType::kI64) return indices;
  Tensor wide = c.scratch(DType::kI64, indices.shape());
  std::ranges::copy(indices.span<int32_t>(), wide.span<int64_t>().begin());
  return wide;
}

Result<Tensor> checked_indices(KernelContext& c, int i, int64_t extent,
                               FunctionRef<std::string()> what) {
  const Tensor wide = as_i64(c, i);
  const auto rows = wide.span<int64_t>();
  for (size_t k = 0; k < rows.size(); ++k)
    if (rows[k] < 0 || rows[k] >= extent)
      return error(Code::kInvalidArgument,
                   "indices{} is {}, out of range for {} of extent {}",
                   place_of(wide.shape(), static_cast<int64_t>(k)), rows[k],
                   what(), extent);
  return wide;
}

void fill(Tensor& t, const void* element) {
  dispatch_size(t.dtype(), [&]<size_t kBytes>() {
    char bytes[kBytes];
    std::memcpy(bytes, element, kBytes);
    parallel_for(t.count(), 1 << 14, [&](int64_t begin, int64_t end) {
      char* to = static_cast<char*>(t.data());
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end);
           ++i)
        std::memcpy(to + i * kBytes, bytes, kBytes);
    });
  });
}

namespace {

template <size_t kBytes>
void gather_small(const char* x, char* y, std::span<const int64_t> rows) {
  for (size_t k = 0; k < rows.size(); ++k)
    std::memcpy(y + k * kBytes, x + static_cast<size_t>(rows[k]) * kBytes,
                kBytes);
}

void gather_part(const char* x, char* y, std::span<const int64_t> rows,
                 size_t row_bytes) {
  switch (row_bytes) {
    case 1: return gather_small<1>(x, y, rows);
    case 2: return gather_small<2>(x, y, rows);
    case 4: return gather_small<4>(x, y, rows);
    case 8: return gather_small<8>(x, y, rows);
    case 16: return gather_small<16>(x, y, rows);
    default:
      for (size_t k = 0; k < rows.size(); ++k)
        std::memcpy(y + k * row_bytes,
                    x + static_cast<size_t>(rows[k]) * row_bytes, row_bytes);
  }
}

}  // namespace

void gather_rows(const void* x, void* y, const AxisView& view,
                 std::span<const int64_t> rows, size_t row_bytes) {
  const auto n = static_cast<int64_t>(rows.size());
  const auto bytes = static_cast<int64_t>(row_bytes);
  if (n == 0 || bytes == 0) return;
  parallel_for(
      view.outer * n, std::max<int64_t>(1, (1 << 16) / bytes),
      [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end;) {
          const int64_t o = at / n;
          const int64_t k = at % n;
          const int64_t some = std::min(n - k, end - at);
          gather_part(
              static_cast<const char*>(x) + o * view.extent * bytes,
              static_cast<char*>(y) + at * bytes,
              rows.subspan(static_cast<size_t>(k), static_cast<size_t>(some)),
              row_bytes);
          at += some;
        }
      });
}

}  // namespace array

void register_array_kernels(KernelRegistry& kernels) {
  register_joining_kernels(kernels);
  register_shaping_kernels(kernels);
  register_padding_kernels(kernels);
  register_slicing_kernels(kernels);
  register_gathering_kernels(kernels);
  register_searching_kernels(kernels);
  register_making_kernels(kernels);
}

}  // namespace rondo
