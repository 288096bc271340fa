// PoolShape: all extents of one pooling, and its division into tasks.
#pragma once

#include <algorithm>

#include "rondo/graph/ops/pool.h"
#include "rondo/kernels/cpu/image_shape.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {

// [begin, end)
struct PoolRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool has(int64_t i) const { return i >= begin && i < end; }
};

// The elements of the window at position i that are not padding.
inline PoolRange inside(const WindowAxis& axis, int64_t i) {
  const int64_t start = axis.start(i);
  return {std::max<int64_t>(0, -start), std::min(axis.size, axis.in - start)};
}

// The positions whose windows have no padding.
inline PoolRange whole_windows(const WindowAxis& axis) {
  PoolRange whole = {0, axis.out};
  while (whole.size() > 0 && inside(axis, whole.begin).size() < axis.size)
    ++whole.begin;
  while (whole.size() > 0 && inside(axis, whole.end - 1).size() < axis.size)
    --whole.end;
  return whole;
}

// The positions whose windows cover element e.
inline PoolRange covering(const WindowAxis& axis, int64_t e) {
  const int64_t reach = e + axis.before;
  const int64_t before_first = reach - axis.size;  // the last that ends ahead
  return {before_first < 0 ? 0 : before_first / axis.stride + 1,
          std::min(axis.out, reach / axis.stride + 1)};
}

struct PoolShape {
  int64_t batch = 0;
  int64_t channels = 0;
  WindowAxis height;
  WindowAxis width;
  bool channels_last = true;
  ImageSteps in;
  ImageSteps out;

  void set_steps();
  Shape y() const {
    if (channels_last) return {batch, height.out, width.out, channels};
    return {batch, channels, height.out, width.out};
  }
  static Result<PoolShape> of(const Shape& x, const Attrs& attrs);
  // Of blocked images: each block of channels is an image by itself.
  PoolShape blocked() const;

  // The most channels that a task has.
  static constexpr int64_t kLanes = 64;
  // Calls f.template operator()<kOne>(n, channel, lanes) for groups of `lanes`
  // channels that lie side by side; kOne: always of one. Tasks have nothing to
  // do with each other and run on several threads.
  template <class F>
  void each_task(F&& f) const {
    if (height.in * width.in == 0) return;
    // Threads are worth it from so much work on.
    constexpr int64_t kWork = 1 << 14;
    const int64_t lanes = channels_last ? std::min(kLanes, channels) : 1;
    const int64_t work =
        lanes * (height.in * width.in +
                 height.out * width.out * height.size * width.size);
    const int64_t grain = kWork / std::max<int64_t>(1, work) + 1;
    if (channels_last) {
      const int64_t groups = (channels + kLanes - 1) / kLanes;
      parallel_for(batch * groups, grain, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t channel = task % groups * kLanes;
          f.template operator()<false>(task / groups, channel,
                                       std::min(kLanes, channels - channel));
        }
      });
      return;
    }
    parallel_for(batch * channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task)
        f.template operator()<true>(task / channels, task % channels,
                                    int64_t{1});
    });
  }
};

}  // namespace rondo
