#include <cmath>

#include "rondo/kernels/cpu/nn_kernels.h"
#include "rondo/kernels/cpu/row_ops.h"
#include "rondo/kernels/cpu/widen.h"
#include "rondo/kernels/layout.h"

namespace rondo {
namespace {

// Channels in the last axis are columns, and so are those of a block; otherwise
// each is outer rows of inner elements.
template <class T>
class ChannelLoops {
 public:
  ChannelLoops(KernelContext& context, const Channels& s)
      : context_(context), s_(s) {}

  bool columns() const { return s_.inner == 1 && !s_.blocked; }
  int64_t each() const { return s_.outer * s_.inner; }  // elements per channel

  // Mean and sum of squared deviations of every channel.
  void moments(const T* x, T* mean, T* deviations) const;
  // y = a x + b.
  void affine(const T* x, const T* a, const T* b, T* y) const;
  // The sums of g and of g (x - mean).
  void grad_sums(const T* g, const T* x, const T* mean, T* sum_g,
                 T* sum_g_x) const;
  // y = a g + b x + c, all of abc for every channel one behind the other.
  void combine(const T* g, const T* x, const T* abc, T* y) const;

 private:
  const T* row(const T* x, int64_t outer, int64_t channel) const {
    return x + (outer * s_.count + channel) * s_.inner;
  }
  // f(channel) on several threads.
  template <class F>
  void for_channels(const F& f) const {
    const int64_t grain =
        std::max<int64_t>(1, 8192 / std::max<int64_t>(1, each()));
    parallel_for(s_.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) f(c);
    });
  }
  // f(outer, channel) on several threads.
  template <class F>
  void for_rows(const F& f) const {
    const int64_t grain =
        std::max<int64_t>(1, 16384 / std::max<int64_t>(1, s_.inner));
    parallel_for(s_.outer * s_.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) f(r / s_.count, r % s_.count);
    });
  }
  // f(begin, rows) for rows of columns, on several threads.
  template <class F>
  void for_columns(const F& f) const {
    const int64_t grain =
        std::max<int64_t>(1, 16384 / std::max<int64_t>(1, s_.count));
    parallel_for(s_.outer, grain, [&](int64_t begin, int64_t end) {
      f(begin * s_.count, end - begin);
    });
  }
  void column_moments(const T* x, T* mean, T* deviations) const;
  void block_moments(const T* x, T* mean, T* deviations) const;

  KernelContext& context_;
  const Channels s_;
  const RowOps<T>& ops_ = row_ops<T>();
};

// Moments of a part of the elements, to be put together with another's: the
// deviations of both, and those of the two means from the common one.
template <class T>
void merge_moments(T& mean, T& deviations, int64_t count, T other_mean,
                   T other_deviations, int64_t other_count) {
  const auto all = static_cast<T>(count + other_count);
  const T off = other_mean - mean;
  mean += off * (static_cast<T>(other_count) / all);
  deviations +=
      other_deviations +
      off * off * (static_cast<T>(count) * static_cast<T>(other_count) / all);
}

template <class T>
void ChannelLoops<T>::column_moments(const T* x, T* mean, T* deviations) const {
  const int64_t n = s_.count;
  // Rows that stay in the cache between the two passes over them.
  const int64_t block = std::clamp<int64_t>(
      16384 / static_cast<int64_t>(sizeof(T)) / std::max<int64_t>(1, n), 8,
      512);
  const int64_t parts = parts_of(s_.outer, n);
  ScratchZeros<T> means(context_, parts * n), devs(context_, parts * n);
  ScratchZeros<T> blocks(context_, parts * 2 * n);
  ScratchZeros<int64_t> counts(context_, parts);
  for_parts(parts, s_.outer, [&](int64_t p, int64_t begin, int64_t end) {
    T* m = blocks.data() + p * 2 * n;
    T* d = m + n;
    T* to_mean = means.data() + p * n;
    T* to_dev = devs.data() + p * n;
    for (int64_t r = begin; r < end; r += block) {
      const int64_t rows = std::min(block, end - r);
      ops_.column_moments(x + r * n, rows, n, m, d);
      for (int64_t i = 0; i < n; ++i)
        merge_moments(to_mean[i], to_dev[i], r - begin, m[i], d[i], rows);
    }
    counts[static_cast<size_t>(p)] = end - begin;
  });
  std::copy_n(means.data(), n, mean);
  std::copy_n(devs.data(), n, deviations);
  int64_t count = counts[0];
  for (int64_t p = 1; p < parts; ++p) {
    const int64_t more = counts[static_cast<size_t>(p)];
    if (more == 0) continue;
    for (int64_t i = 0; i < n; ++i)
      merge_moments(mean[i], deviations[i], count,
                    means[static_cast<size_t>(p * n + i)],
                    devs[static_cast<size_t>(p * n + i)], more);
    count += more;
  }
}

template <class T>
void ChannelLoops<T>::block_moments(const T* x, T* mean, T* deviations) const {
  constexpr int64_t kLanes = Channels::kLanes;
  // Rows that stay in the cache between the two passes over them.
  constexpr int64_t kRows = 16384 / static_cast<int64_t>(sizeof(T)) / kLanes;
  std::fill_n(mean, s_.count, T{0});
  std::fill_n(deviations, s_.count, T{0});
  s_.each_channel_piece([&](int64_t at, int64_t channel) {
    T m[kLanes], d[kLanes];
    // All pieces before this one were of the same thread and as long.
    const int64_t before = at / (s_.count * s_.inner) * s_.inner;
    for (int64_t r = 0; r < s_.inner; r += kRows) {
      const int64_t rows = std::min(kRows, s_.inner - r);
      ops_.column_moments(x + at + r * kLanes, rows, kLanes, m, d);
      for (int64_t i = 0; i < kLanes; ++i)
        merge_moments(mean[channel + i], deviations[channel + i], before + r,
                      m[i], d[i], rows);
    }
  });
}

template <class T>
void ChannelLoops<T>::moments(const T* x, T* mean, T* deviations) const {
  if (columns()) return column_moments(x, mean, deviations);
  if (s_.blocked) return block_moments(x, mean, deviations);
  for_channels([&](int64_t c) {
    mean[c] = deviations[c] = 0;
    if (s_.inner == 0) return;
    for (int64_t o = 0; o < s_.outer; ++o) {
      const RowMoments<T> m = ops_.moments(row(x, o, c), s_.inner);
      merge_moments(mean[c], deviations[c], o * s_.inner, m.mean, m.deviations,
                    s_.inner);
    }
  });
}

template <class T>
void ChannelLoops<T>::affine(const T* x, const T* a, const T* b, T* y) const {
  if (columns()) {
    for_columns([&](int64_t at, int64_t rows) {
      ops_.column_affine(x + at, rows, s_.count, a, b, y + at);
    });
    return;
  }
  if (s_.blocked) {
    s_.each_piece([&](int64_t at, int64_t channel) {
      ops_.column_affine(x + at, s_.inner, Channels::kLanes, a + channel,
                         b + channel, y + at);
    });
    return;
  }
  for_rows([&](int64_t o, int64_t c) {
    const T* from = row(x, o, c);
    ops_.affine(from, a[c], b[c], y + (from - x), s_.inner);
  });
}

template <class T>
void ChannelLoops<T>::grad_sums(const T* g, const T* x, const T* mean, T* sum_g,
                                T* sum_g_x) const {
  if (columns()) {
    const int64_t n = s_.count;
    const int64_t parts = parts_of(s_.outer, n);
    ScratchZeros<T> sums(context_, parts * n), sums_x(context_, parts * n);
    for_parts(parts, s_.outer, [&](int64_t p, int64_t begin, int64_t end) {
      ops_.column_grad_sums(g + begin * n, x + begin * n, end - begin, n, mean,
                            sums.data() + p * n, sums_x.data() + p * n);
    });
    add_parts(sums.data(), parts, n, sum_g);
    add_parts(sums_x.data(), parts, n, sum_g_x);
    return;
  }
  if (s_.blocked) {
    std::fill_n(sum_g, s_.count, T{0});
    std::fill_n(sum_g_x, s_.count, T{0});
    s_.each_channel_piece([&](int64_t at, int64_t channel) {
      ops_.column_grad_sums(g + at, x + at, s_.inner, Channels::kLanes,
                            mean + channel, sum_g + channel, sum_g_x + channel);
    });
    return;
  }
  for_channels([&](int64_t c) {
    sum_g[c] = sum_g_x[c] = 0;
    for (int64_t o = 0; o < s_.outer; ++o) {
      const GradSums<T> sums =
          ops_.grad_sums(row(g, o, c), row(x, o, c), mean[c], s_.inner);
      sum_g[c] += sums.g;
      sum_g_x[c] += sums.g_x;
    }
  });
}

template <class T>
void ChannelLoops<T>::combine(const T* g, const T* x, const T* abc,
                              T* y) const {
  const int64_t n = s_.count;
  if (columns()) {
    for_columns([&](int64_t at, int64_t rows) {
      ops_.column_combine(g + at, x + at, rows, n, abc, y + at);
    });
    return;
  }
  if (s_.blocked) {
    constexpr int64_t kLanes = Channels::kLanes;
    s_.each_piece([&](int64_t at, int64_t channel) {
      T own[3 * kLanes];
      for (int64_t k = 0; k < 3; ++k)
        std::copy_n(abc + k * n + channel, kLanes, own + k * kLanes);
      ops_.column_combine(g + at, x + at, s_.inner, kLanes, own, y + at);
    });
    return;
  }
  for_rows([&](int64_t o, int64_t c) {
    const T* from = row(x, o, c);
    const int64_t at = from - x;
    ops_.combine(g + at, from, abc[c], abc[n + c], abc[2 * n + c], y + at,
                 s_.inner);
  });
}

template <class T>
const T* data(const Tensor& t) {
  return t.span<T>().data();
}
template <class T>
T* data(WideOutput& t) {
  return t.tensor().span<T>().data();
}

Status run_batch_norm(const Node& node, KernelContext& c) {
  const bool training = node.attrs().get<bool>("is_training");
  const double epsilon = node.attrs().get<double>("epsilon");
  const Shape shape = c.input(0).shape();
  const DType dtype = c.input(0).dtype();
  RONDO_ASSIGN_OR_RETURN(const Channels s, channels_of_input(node, c, 0));
  const Layout layout = c.input(0).layout();
  constexpr std::string_view kNames[] = {"x", "scale", "offset", "mean",
                                         "variance"};
  for (int i = 1; i < (training ? 3 : 5); ++i)
    RONDO_RETURN_IF_ERROR(
        want_shape(c.input(i), {s.count}, kNames[static_cast<size_t>(i)]));
  const Tensor x = widen(c, c.input(0));
  const Tensor scale = widen(c, c.input(1));
  const Tensor offset = widen(c, c.input(2));
  const Tensor given_mean = widen(c, c.input(3));
  const Tensor given_variance = widen(c, c.input(4));
  WideOutput y(c, 0, dtype, shape);
  WideOutput mean(c, 1, dtype, {s.count});
  WideOutput variance(c, 2, dtype, {s.count});
  Tensor& saved_mean = c.allocate(3, x.dtype(), {s.count});
  Tensor& saved_rstd = c.allocate(4, x.dtype(), {s.count});
  dispatch_wide(x.dtype(), [&]<class T>() {
    const ChannelLoops<T> loops(c, s);
    T* m = data<T>(mean);
    T* v = data<T>(variance);
    const auto count = static_cast<T>(loops.each());
    if (training) {
      loops.moments(data<T>(x), m, v);
    } else {
      std::copy_n(data<T>(given_mean), s.count, m);
      std::copy_n(data<T>(given_variance), s.count, v);
    }
    ScratchZeros<T> a(c, s.count), b(c, s.count);
    for (size_t i = 0; i < static_cast<size_t>(s.count); ++i) {
      const T spread = training ? (count > 0 ? v[i] / count : T{0}) : v[i];
      if (training) v[i] /= std::max(T{1}, count - 1);
      const T rstd = 1 / std::sqrt(spread + static_cast<T>(epsilon));
      saved_mean.span<T>()[i] = m[i];
      saved_rstd.span<T>()[i] = rstd;
      a[i] = data<T>(scale)[i] * rstd;
      b[i] = data<T>(offset)[i] - m[i] * a[i];
    }
    loops.affine(data<T>(x), a.data(), b.data(), data<T>(y));
  });
  y.finish();
  mean.finish();
  variance.finish();
  c.output(0).set_layout(layout);
  return {};
}

// With h the normalised x, of M elements per channel: dx = scale rstd (g -
// sum(g) / M - h sum(g h) / M), of which only the first term is there when mean
// and variance are given.
Status run_batch_norm_grad(const Node& node, KernelContext& c) {
  const bool training = node.attrs().get<bool>("is_training");
  const Shape shape = c.input(1).shape();
  const DType dtype = c.input(0).dtype();
  RONDO_RETURN_IF_ERROR(want_shape(c.input(0), shape, "grad"));
  RONDO_ASSIGN_OR_RETURN(const Channels s, channels_of_input(node, c, 1));
  const Layout layout = c.input(1).layout();
  c.set_input(0, in_layout(c.allocator(), c.input(0), layout));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(2), {s.count}, "scale"));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(3), {s.count}, "saved_mean"));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(4), {s.count}, "saved_rstd"));
  const Tensor g = widen(c, c.input(0));
  const Tensor x = widen(c, c.input(1));
  const Tensor scale = widen(c, c.input(2));
  const Tensor mean = widen(c, c.input(3));
  const Tensor rstd = widen(c, c.input(4));
  if (mean.dtype() != x.dtype())
    return error(Code::kInvalidArgument, "x has type {}, its mean {}",
                 name_of(x.dtype()), name_of(mean.dtype()));
  WideOutput dx(c, 0, dtype, shape);
  WideOutput dscale(c, 1, dtype, {s.count});
  WideOutput doffset(c, 2, dtype, {s.count});
  WideOutput dmean(c, 3, dtype, {s.count});
  WideOutput dvariance(c, 4, dtype, {s.count});
  dispatch_wide(x.dtype(), [&]<class T>() {
    const ChannelLoops<T> loops(c, s);
    loops.grad_sums(data<T>(g), data<T>(x), data<T>(mean), data<T>(doffset),
                    data<T>(dscale));
    const auto n = static_cast<size_t>(s.count);
    const auto count = static_cast<T>(loops.each());
    ScratchZeros<T> abc(c, 3 * s.count);
    for (size_t i = 0; i < n; ++i) {
      const T r = data<T>(rstd)[i];
      const T sum_g = data<T>(doffset)[i];
      const T sum_g_h = data<T>(dscale)[i] *= r;
      const T a = data<T>(scale)[i] * r;
      const T b = training ? -a * r * sum_g_h / count : T{0};
      abc[i] = a;
      abc[n + i] = b;
      abc[2 * n + i] =
          training ? -a * sum_g / count - b * data<T>(mean)[i] : T{0};
      data<T>(dmean)[i] = training ? T{0} : -a * sum_g;
      data<T>(dvariance)[i] = training ? T{0} : -a * r * sum_g_h / 2;
    }
    loops.combine(data<T>(g), data<T>(x), abc.data(), data<T>(dx));
  });
  for (WideOutput* out : {&dx, &dscale, &doffset, &dmean, &dvariance})
    out->finish();
  c.output(0).set_layout(layout);
  return {};
}

}  // namespace

void register_batch_norm_kernels(KernelRegistry& kernels) {
  kernels.add("FusedBatchNorm", "cpu", from_function(run_batch_norm, true));
  kernels.add("FusedBatchNormGrad", "cpu",
              from_function(run_batch_norm_grad, true));
}

}  // namespace rondo
