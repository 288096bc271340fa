#include "rondo/kernels/cpu/pool.h"

#include <cstring>
#include <vector>

#include "rondo/base/short_vector.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/pool_shape.h"
#include "rondo/kernels/layout.h"

namespace rondo {

Result<PoolShape> PoolShape::of(const Shape& x, const Attrs& attrs) {
  RONDO_ASSIGN_OR_RETURN(const WindowOptions window,
                         pool_window(x.rank(), attrs));
  const Ints& ksize = attrs.get<Ints>("ksize");
  PoolShape shape;
  shape.batch = x[0];
  shape.channels = x[window.channel_axis()];
  shape.channels_last = window.channels_last();
  RONDO_ASSIGN_OR_RETURN(shape.height,
                         window_axis(window, 0, x[window.axis(0)], ksize[0]));
  RONDO_ASSIGN_OR_RETURN(shape.width,
                         window_axis(window, 1, x[window.axis(1)], ksize[1]));
  shape.set_steps();
  return shape;
}

PoolShape PoolShape::blocked() const {
  PoolShape shape = *this;
  shape.batch = batch * (channels / 16);
  shape.channels = 16;
  shape.channels_last = true;
  shape.set_steps();
  return shape;
}

void PoolShape::set_steps() {
  in = ImageSteps::of(channels_last, channels, height.in, width.in);
  out = ImageSteps::of(channels_last, channels, height.out, width.out);
}

namespace {

template <class T, bool kOne>
void max_step(const T* x, int64_t lanes, int32_t k, Computed<T>* best,
              int32_t* where) {
  if constexpr (!kOne && std::is_same_v<T, float>) {
    max_channels(x, lanes, k, best, where);
  } else {
    for (int64_t c = 0; c < (kOne ? 1 : lanes); ++c) {
      const Computed<T> now = load(x[c]);
      if (!(now > best[c]) && !is_nan(now)) continue;
      best[c] = now;
      where[c] = k;
    }
  }
}

template <class T, bool kOne>
void add_step(const T* x, int64_t lanes, Computed<T> scale, Computed<T>* sum) {
  if constexpr (!kOne && std::is_same_v<T, float>)
    add_channels(x, lanes, scale, sum);
  else
    for (int64_t c = 0; c < (kOne ? 1 : lanes); ++c)
      sum[c] += load(x[c]) * scale;
}

// f(row, column, first element) for every position of the window.
template <class F>
void each_window(const PoolShape& s, int64_t n, int64_t channel, F&& f) {
  for (int64_t i = 0; i < s.height.out; ++i)
    for (int64_t j = 0; j < s.width.out; ++j)
      f(i, j, s.out.at(n, i, j, channel));
}

template <class T, class Index>
void max_pool(const PoolShape& s, const T* x, T* y, Index* where) {
  s.each_task([&]<bool kOne>(int64_t n, int64_t channel, int64_t lanes) {
    Computed<T> best[PoolShape::kLanes];
    int32_t place[PoolShape::kLanes];
    each_window(s, n, channel, [&](int64_t i, int64_t j, int64_t to) {
      const PoolRange rows = inside(s.height, i);
      const PoolRange columns = inside(s.width, j);
      const auto window = [&](int64_t kh, int64_t kw) {
        return x + s.in.at(n, s.height.at(i, kh), s.width.at(j, kw), channel);
      };
      const T* first = window(rows.begin, columns.begin);
      for (int64_t c = 0; c < (kOne ? 1 : lanes); ++c) {
        best[c] = load(first[c]);
        place[c] =
            static_cast<int32_t>(rows.begin * s.width.size + columns.begin);
      }
      for (int64_t kh = rows.begin; kh < rows.end; ++kh)
        for (int64_t kw = columns.begin; kw < columns.end; ++kw)
          max_step<T, kOne>(window(kh, kw), lanes,
                            static_cast<int32_t>(kh * s.width.size + kw), best,
                            place);
      for (int64_t c = 0; c < (kOne ? 1 : lanes); ++c) {
        y[to + c] = store<T>(best[c]);
        where[to + c] = static_cast<Index>(place[c]);
      }
    });
  });
}

// f(element of y, element of x that `where` says) for all but those where that
// is padding or no place in a window at all.
template <class Index, class F>
void each_pick(const PoolShape& s, const Index* where, F&& f) {
  struct Place {
    int64_t row, column, offset;
  };
  ShortVector<Place, 16> places;
  for (int64_t kh = 0; kh < s.height.size; ++kh)
    for (int64_t kw = 0; kw < s.width.size; ++kw)
      places.push_back({kh, kw, kh * s.in.row + kw * s.in.column});
  s.each_task([&]<bool kOne>(int64_t n, int64_t channel, int64_t lanes) {
    each_window(s, n, channel, [&](int64_t i, int64_t j, int64_t to) {
      const PoolRange rows = inside(s.height, i);
      const PoolRange columns = inside(s.width, j);
      const int64_t from =
          s.in.at(n, s.height.start(i), s.width.start(j), channel);
      for (int64_t c = 0; c < (kOne ? 1 : lanes); ++c) {
        const auto k = static_cast<uint32_t>(where[to + c]);
        if (k >= places.size()) continue;
        const Place& place = places[k];
        if (rows.has(place.row) && columns.has(place.column))
          f(to + c, from + place.offset + c);
      }
    });
  });
}

template <class T>
void avg_pool(const PoolShape& s, const T* x, T* y) {
  s.each_task([&]<bool kOne>(int64_t n, int64_t channel, int64_t lanes) {
    Computed<T> sum[PoolShape::kLanes];
    each_window(s, n, channel, [&](int64_t i, int64_t j, int64_t to) {
      const PoolRange rows = inside(s.height, i);
      const PoolRange columns = inside(s.width, j);
      std::fill_n(sum, lanes, Computed<T>{0});
      for (int64_t kh = rows.begin; kh < rows.end; ++kh)
        for (int64_t kw = columns.begin; kw < columns.end; ++kw)
          add_step<T, kOne>(
              x + s.in.at(n, s.height.at(i, kh), s.width.at(j, kw), channel),
              lanes, 1, sum);
      const auto count = static_cast<Computed<T>>(rows.size() * columns.size());
      for (int64_t c = 0; c < (kOne ? 1 : lanes); ++c)
        y[to + c] = store<T>(sum[c] / count);
    });
  });
}

// 1 / the number of elements of the window that count, for every position.
template <class C>
std::vector<C> shares(const WindowAxis& axis) {
  std::vector<C> shares;
  for (int64_t i = 0; i < axis.out; ++i)
    shares.push_back(1 / static_cast<C>(inside(axis, i).size()));
  return shares;
}

template <class T>
void avg_pool_grad(const PoolShape& s, const T* grad, T* x) {
  const auto row_shares = shares<Computed<T>>(s.height);
  const auto column_shares = shares<Computed<T>>(s.width);
  std::vector<PoolRange> column_ranges;
  for (int64_t column = 0; column < s.width.in; ++column)
    column_ranges.push_back(covering(s.width, column));
  s.each_task([&]<bool kOne>(int64_t n, int64_t channel, int64_t lanes) {
    Computed<T> sum[PoolShape::kLanes];
    for (int64_t row = 0; row < s.height.in; ++row) {
      const PoolRange is = covering(s.height, row);
      for (int64_t column = 0; column < s.width.in; ++column) {
        const PoolRange js = column_ranges[static_cast<size_t>(column)];
        std::fill_n(sum, lanes, Computed<T>{0});
        for (int64_t i = is.begin; i < is.end; ++i)
          for (int64_t j = js.begin; j < js.end; ++j)
            add_step<T, kOne>(grad + s.out.at(n, i, j, channel), lanes,
                              row_shares[static_cast<size_t>(i)] *
                                  column_shares[static_cast<size_t>(j)],
                              sum);
        T* to = x + s.in.at(n, row, column, channel);
        for (int64_t c = 0; c < (kOne ? 1 : lanes); ++c)
          to[c] = store<T>(sum[c]);
      }
    }
  });
}

Layout blocked_for(const PoolShape& s) {
  return blocked_layout(s.channels_last);
}

Status check_shape(const Tensor& t, const Shape& wanted,
                   std::string_view name) {
  if (t.shape() == wanted) return {};
  return error(Code::kInvalidArgument,
               "{} has shape {}, but the result of the pooling is {}", name,
               t.shape().to_string(), wanted.to_string());
}

// f.template operator()<Index>() for the type of MaxPool's second output.
template <class F>
void dispatch_index(DType dtype, F&& f) {
  if (dtype == DType::kU8) return f.template operator()<uint8_t>();
  f.template operator()<int32_t>();
}

Status run_max_pool(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(PoolShape s, PoolShape::of(x.shape(), node.attrs()));
  const Layout layout = accept_layout(c, 0, blocked_for(s));
  Tensor& y = c.allocate(0, x.dtype(), s.y());
  Tensor& where = c.allocate(1, pool_index_type(node.attrs()), s.y());
  y.set_layout(layout);
  where.set_layout(layout);
  if (is_blocked(y)) s = s.blocked();
  dispatch_number(x.dtype(), [&]<class T>() {
    dispatch_index(where.dtype(), [&]<class Index>() {
      max_pool(s, x.span<T>().data(), y.span<T>().data(),
               where.span<Index>().data());
    });
  });
  return {};
}

// Windows may overlap, so elements of 16 bits are added up as floats.
template <class T>
void max_pool_grad(const PoolShape& s, const Tensor& where, const T* grad,
                   Computed<T>* sums) {
  dispatch_index(where.dtype(), [&]<class Index>() {
    each_pick(s, where.span<Index>().data(), [&](int64_t y, int64_t x) {
      sums[x] = static_cast<Computed<T>>(sums[x] + load(grad[y]));
    });
  });
}

Result<PoolShape> shape_for_grad(const Node& node, const KernelContext& c,
                                 const Tensor& grad, Shape& x) {
  RONDO_ASSIGN_OR_RETURN(
      x, image_shape_in(c.input(0), "input_shape",
                        grad.shape().rank() == 4 ? grad.shape()[0] : -1));
  RONDO_ASSIGN_OR_RETURN(const PoolShape s, PoolShape::of(x, node.attrs()));
  RONDO_RETURN_IF_ERROR(check_shape(grad, s.y(), "grad"));
  return s;
}

Status run_max_pool_grad(const Node& node, KernelContext& c) {
  const Tensor& where = c.input(1);
  const Tensor& grad = c.input(2);
  Shape shape;
  RONDO_ASSIGN_OR_RETURN(PoolShape s, shape_for_grad(node, c, grad, shape));
  RONDO_RETURN_IF_ERROR(check_shape(where, s.y(), "where"));
  const Layout layout = accept_layout(c, 1, blocked_for(s));
  c.set_input(2, in_layout(c.allocator(), grad, layout));
  Tensor& x = c.allocate(0, grad.dtype(), shape);
  x.set_layout(layout);
  if (is_blocked(x)) s = s.blocked();
  dispatch_number(grad.dtype(), [&]<class T>() {
    constexpr bool kWide = !std::is_same_v<T, Computed<T>>;
    Tensor sums = kWide ? c.scratch(DType::kF32, shape) : x;
    parallel_for(sums.count(), 1 << 16, [&](int64_t begin, int64_t end) {
      std::fill_n(sums.span<Computed<T>>().data() + begin, end - begin,
                  Computed<T>{0});
    });
    max_pool_grad<T>(s, where, grad.span<T>().data(),
                     sums.span<Computed<T>>().data());
    if constexpr (kWide)
      std::ranges::transform(sums.span<float>(), x.span<T>().begin(),
                             [](float f) { return store<T>(f); });
  });
  return {};
}

Status run_max_pool_pick(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& where = c.input(1);
  RONDO_ASSIGN_OR_RETURN(const PoolShape s,
                         PoolShape::of(x.shape(), node.attrs()));
  RONDO_RETURN_IF_ERROR(check_shape(where, s.y(), "where"));
  Tensor& y = c.allocate(0, x.dtype(), s.y());
  std::memset(y.data(), 0, y.bytes());
  dispatch_number(x.dtype(), [&]<class T>() {
    dispatch_index(where.dtype(), [&]<class Index>() {
      const T* from = x.span<T>().data();
      T* to = y.span<T>().data();
      each_pick(s, where.span<Index>().data(),
                [&](int64_t i, int64_t at) { to[i] = from[at]; });
    });
  });
  return {};
}

Status run_avg_pool(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(PoolShape s, PoolShape::of(x.shape(), node.attrs()));
  const Layout layout = accept_layout(c, 0, blocked_for(s));
  Tensor& y = c.allocate(0, x.dtype(), s.y());
  y.set_layout(layout);
  if (is_blocked(y)) s = s.blocked();
  dispatch_float(x.dtype(), [&]<class T>() {
    avg_pool(s, x.span<T>().data(), y.span<T>().data());
  });
  return {};
}

Status run_avg_pool_grad(const Node& node, KernelContext& c) {
  const Tensor& grad = c.input(1);
  Shape shape;
  RONDO_ASSIGN_OR_RETURN(PoolShape s, shape_for_grad(node, c, grad, shape));
  const Layout layout = accept_layout(c, 1, blocked_for(s));
  Tensor& x = c.allocate(0, grad.dtype(), shape);
  x.set_layout(layout);
  if (is_blocked(x)) s = s.blocked();
  dispatch_float(grad.dtype(), [&]<class T>() {
    avg_pool_grad(s, grad.span<T>().data(), x.span<T>().data());
  });
  return {};
}

}  // namespace

void register_pool_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run, bool layouts = true) {
    kernels.add(op, "cpu", from_function(run, layouts));
  };
  add("MaxPool", run_max_pool);
  add("MaxPoolGrad", run_max_pool_grad);
  add("MaxPoolPick", run_max_pool_pick, false);
  add("AvgPool", run_avg_pool);
  add("AvgPoolGrad", run_avg_pool_grad);
}

}  // namespace rondo
