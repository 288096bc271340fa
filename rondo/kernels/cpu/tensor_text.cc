#include "rondo/kernels/cpu/tensor_text.h"

#include <algorithm>

#include "rondo/kernels/cpu/dispatch.h"

namespace rondo {
namespace {

std::string element_text(const Tensor& tensor, int64_t i) {
  return dispatch_any(tensor.dtype(), [&]<class T>() -> std::string {
    const auto x = load(tensor.span<T>()[static_cast<size_t>(i)]);
    if constexpr (sizeof(x) == 1 && !std::is_same_v<T, bool>)
      return fmt::format("{}", static_cast<int>(x));
    else
      return fmt::format("{}", x);
  });
}

// The slice of `axis` whose first element is number `at`.
void put_slice(const Tensor& tensor, int64_t edge, int axis, int64_t at,
               std::string& text) {
  const Shape& shape = tensor.shape();
  if (axis == shape.rank()) {
    text += element_text(tensor, at);
    return;
  }
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const bool last_axis = axis + 1 == shape.rank();
  // Slices that are lists themselves are below each other.
  std::string between = last_axis ? " " : "\n";
  if (!last_axis) between.append(static_cast<size_t>(axis) + 1, ' ');
  text += '[';
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) text += between;
    if (edge >= 0 && i == edge && shape[axis] > 2 * edge) {
      text += "...";
      i = shape[axis] - edge - 1;
      continue;
    }
    put_slice(tensor, edge, axis + 1, at + i * inner, text);
  }
  text += ']';
}

}  // namespace

std::string first_elements(const Tensor& tensor, int64_t most) {
  const int64_t shown =
      most < 0 ? tensor.count() : std::min(most, tensor.count());
  std::string text = "[";
  for (int64_t i = 0; i < shown; ++i) {
    if (i > 0) text += ' ';
    text += element_text(tensor, i);
  }
  if (shown < tensor.count()) text += "...";
  return text + "]";
}

std::string nested_elements(const Tensor& tensor, int64_t edge) {
  std::string text;
  put_slice(tensor, edge, 0, 0, text);
  return text;
}

}  // namespace rondo
