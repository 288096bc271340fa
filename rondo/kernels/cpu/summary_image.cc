#include "rondo/kernels/cpu/summary_image.h"

#include <algorithm>
#include <cmath>

#include "rondo/kernels/cpu/dispatch.h"

namespace rondo {
namespace {

// How a value becomes a byte: value * factor + offset.
struct Scale {
  double factor = 0;
  double offset = 0;
};

Scale scale_of(std::span<const double> values) {
  double least = 0;
  double most = 0;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  if (least < 0) return {127 / std::max(-least, most), 128};
  return {most > 0 ? 255 / most : 0, 0};
}

}  // namespace

std::vector<uint8_t> pixels_of(const Tensor& images, int64_t index,
                               const Ints& bad_color) {
  const Shape& shape = images.shape();
  const auto channels = static_cast<size_t>(shape[3]);
  const auto count = static_cast<size_t>(shape[1] * shape[2]) * channels;
  const size_t first = static_cast<size_t>(index) * count;
  if (images.dtype() == DType::kU8) {
    const auto bytes = images.span<uint8_t>().subspan(first, count);
    return {bytes.begin(), bytes.end()};
  }
  std::vector<double> values(count);
  dispatch_float(images.dtype(), [&]<class T>() {
    const auto from = images.span<T>().subspan(first, count);
    std::ranges::transform(from, values.begin(), [](T x) { return load(x); });
  });
  const Scale scale = scale_of(values);
  std::vector<uint8_t> pixels(count);
  for (size_t at = 0; at < count; at += channels) {
    const bool good =
        std::all_of(values.begin() + static_cast<ptrdiff_t>(at),
                    values.begin() + static_cast<ptrdiff_t>(at + channels),
                    [](double x) { return std::isfinite(x); });
    for (size_t c = 0; c < channels; ++c) {
      if (good)
        pixels[at + c] = static_cast<uint8_t>(std::clamp(
            values[at + c] * scale.factor + scale.offset, 0.0, 255.0));
      else
        pixels[at + c] =
            c < bad_color.size() ? static_cast<uint8_t>(bad_color[c]) : 0;
    }
  }
  return pixels;
}

}  // namespace rondo
