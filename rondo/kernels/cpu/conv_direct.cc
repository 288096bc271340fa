#include "rondo/kernels/cpu/conv_direct.h"

#include <algorithm>

#include "rondo/kernels/cpu/image_shape.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {
namespace {

// The convolution at one position of the window and one element of it: all
// channels of x there, all of y there, and the filter's matrix between them.
struct Spot {
  double* x;
  double* y;
  double* filter;
};

class Direct {
 public:
  Direct(const ConvShape& shape, double* x, double* filter, double* y)
      : s_(shape),
        x_(x),
        filter_(filter),
        y_(y),
        in_(ImageSteps::of(s_.channels_last, s_.in_channels, s_.height.in,
                           s_.width.in)),
        out_(ImageSteps::of(s_.channels_last, s_.out_channels, s_.height.out,
                            s_.width.out)) {}

  void forward() {
    each_image([this](const Spot& spot) {
      each_pair([&](int64_t i, int64_t o, int64_t w) {
        const double x = spot.x[i * in_.channel];
        for (int64_t k = 0; k < s_.group_out(); ++k)
          spot.y[(o + k) * out_.channel] += x * spot.filter[w + k];
      });
    });
  }

  void backward_input() {
    each_image([this](const Spot& spot) {
      each_pair([&](int64_t i, int64_t o, int64_t w) {
        double sum = 0;
        for (int64_t k = 0; k < s_.group_out(); ++k)
          sum += spot.y[(o + k) * out_.channel] * spot.filter[w + k];
        spot.x[i * in_.channel] += sum;
      });
    });
  }

  // Each element of the window has its own part of the result, so threads share
  // those instead of the images.
  void backward_filter() {
    parallel_for(
        elements(), grain(s_.batch), [this](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k)
            for (int64_t n = 0; n < s_.batch; ++n)
              each_position(n, k / s_.width.size, k % s_.width.size,
                            [this](const Spot& spot) { add_outer(spot); });
        });
  }

 private:
  // Of the window.
  int64_t elements() const { return s_.height.size * s_.width.size; }
  // How many tasks, each of `spots` elements of the window at all positions,
  // are worth a thread.
  int64_t grain(int64_t spots) const {
    constexpr int64_t kWork = 1 << 14;
    const int64_t work =
        spots * s_.height.out * s_.width.out * s_.in_channels * s_.group_out();
    return kWork / std::max<int64_t>(1, work) + 1;
  }

  void add_outer(const Spot& spot) {
    each_pair([&](int64_t i, int64_t o, int64_t w) {
      const double x = spot.x[i * in_.channel];
      for (int64_t k = 0; k < s_.group_out(); ++k)
        spot.filter[w + k] += x * spot.y[(o + k) * out_.channel];
    });
  }

  // f(channel in, first channel out of its group, their place in the matrix).
  template <class F>
  void each_pair(F&& f) {
    const int64_t group_in = s_.group_in();
    for (int64_t i = 0; i < s_.in_channels; ++i) {
      const int64_t o = i / group_in * s_.group_out();
      f(i, o, i % group_in * s_.out_channels + o);
    }
  }

  template <class F>
  void each_image(F&& f) {
    parallel_for(s_.batch, grain(elements()), [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        for (int64_t kh = 0; kh < s_.height.size; ++kh)
          for (int64_t kw = 0; kw < s_.width.size; ++kw)
            each_position(n, kh, kw, f);
    });
  }

  template <class F>
  void each_position(int64_t n, int64_t kh, int64_t kw, F&& f) {
    double* filter =
        filter_ + (kh * s_.width.size + kw) * s_.group_in() * s_.out_channels;
    for (int64_t i = 0; i < s_.height.out; ++i) {
      const int64_t row = s_.height.at(i, kh);
      if (row < 0 || row >= s_.height.in) continue;
      for (int64_t j = 0; j < s_.width.out; ++j) {
        const int64_t column = s_.width.at(j, kw);
        if (column < 0 || column >= s_.width.in) continue;
        f(Spot{x_ + in_.at(n, row, column, 0), y_ + out_.at(n, i, j, 0),
               filter});
      }
    }
  }

  const ConvShape& s_;
  double* x_;
  double* filter_;
  double* y_;
  const ImageSteps in_;
  const ImageSteps out_;
};

}  // namespace

void conv_direct(ConvDirection direction, const ConvShape& s, double* x,
                 double* filter, double* y) {
  Direct direct(s, x, filter, y);
  switch (direction) {
    case ConvDirection::kForward:
      std::fill_n(y, s.y().count(), 0.0);
      return direct.forward();
    case ConvDirection::kBackwardInput:
      std::fill_n(x, s.batch * s.in_channels * s.height.in * s.width.in, 0.0);
      return direct.backward_input();
    case ConvDirection::kBackwardFilter:
      std::fill_n(filter,
                  s.height.size * s.width.size * s.group_in() * s.out_channels,
                  0.0);
      return direct.backward_filter();
  }
}

}  // namespace rondo
