#include <array>

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/nn_kernels.h"
#include "rondo/kernels/cpu/row_ops.h"
#include "rondo/kernels/cpu/widen.h"
#include "rondo/kernels/layout.h"

namespace rondo {

Result<Channels> channels_of(const Node& node, const Shape& shape) {
  if (shape.rank() < 2)
    return error(
        Code::kInvalidArgument,
        "x has shape {}, expected at least rank 2: a batch of channels",
        shape.to_string());
  const bool last = node.attrs().get<std::string>("data_format") == "NHWC";
  const int axis = last ? shape.rank() - 1 : 1;
  Channels c;
  for (int i = 0; i < axis; ++i) c.outer *= shape[i];
  c.count = shape[axis];
  for (int i = axis + 1; i < shape.rank(); ++i) c.inner *= shape[i];
  return c;
}

Result<Channels> channels_of_input(const Node& node, KernelContext& c, int i) {
  RONDO_ASSIGN_OR_RETURN(Channels s, channels_of(node, c.input(i).shape()));
  const bool last = node.attrs().get<std::string>("data_format") == "NHWC";
  if (accept_layout(c, i, blocked_layout(last)) == Layout::kRowMajor) return s;
  const Shape& shape = c.input(i).shape();
  s.blocked = true;
  s.outer = shape[0];
  s.inner = c.input(i).count() / (s.outer * s.count);
  return s;
}

namespace {

template <class T>
void add_bias(const T* x, const T* bias, T* y, const Channels& s) {
  const int64_t rows = s.inner == 1 ? s.outer : s.outer * s.count;
  const int64_t n = s.inner == 1 ? s.count : s.inner;
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* from = x + r * n;
      T* to = y + r * n;
      if (s.inner == 1) {
        for (int64_t j = 0; j < n; ++j)
          to[j] =
              store<T>(static_cast<Computed<T>>(load(from[j]) + load(bias[j])));
      } else {
        const auto b = load(bias[r % s.count]);
        for (int64_t j = 0; j < n; ++j)
          to[j] = store<T>(static_cast<Computed<T>>(load(from[j]) + b));
      }
    }
  });
}

Status run_bias_add(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Channels s, channels_of(node, x.shape()));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), {s.count}, "the bias"));
  const void* from = x.data();
  Tensor& y = c.allocate_or_reuse(0, 0, x.dtype(), x.shape());
  dispatch_number(y.dtype(), [&]<class T>() {
    // Integers add as unsigned, so that they wrap.
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      add_bias(static_cast<const U*>(from),
               static_cast<const U*>(c.input(1).data()),
               static_cast<U*>(y.data()), s);
    } else {
      add_bias(static_cast<const T*>(from), c.input(1).span<T>().data(),
               y.span<T>().data(), s);
    }
  });
  return {};
}

template <class T>
void sum_channels(KernelContext& context, const T* g, T* to,
                  const Channels& s) {
  const RowOps<T>& ops = row_ops<T>();
  if (s.blocked) {
    std::fill_n(to, s.count, T{0});
    s.each_channel_piece([&](int64_t at, int64_t channel) {
      ops.column_sums(g + at, s.inner, Channels::kLanes, to + channel);
    });
    return;
  }
  if (s.inner == 1) {
    const int64_t parts = parts_of(s.outer, s.count);
    ScratchZeros<T> sums(context, parts * s.count);
    for_parts(parts, s.outer, [&](int64_t p, int64_t begin, int64_t end) {
      ops.column_sums(g + begin * s.count, end - begin, s.count,
                      sums.data() + p * s.count);
    });
    add_parts(sums.data(), parts, s.count, to);
    return;
  }
  const int64_t each = s.outer * s.inner;
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, each));
  parallel_for(s.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) {
      T sum = 0;
      for (int64_t o = 0; o < s.outer; ++o)
        sum += ops.sum(g + (o * s.count + channel) * s.inner, s.inner);
      to[channel] = sum;
    }
  });
}

Status run_bias_add_grad(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Channels s, channels_of_input(node, c, 0));
  const Tensor g = widen(c, c.input(0));
  WideOutput y(c, 0, c.input(0).dtype(), {s.count});
  dispatch_wide(g.dtype(), [&]<class T>() {
    sum_channels(c, g.span<T>().data(), y.tensor().span<T>().data(), s);
  });
  y.finish();
  return {};
}

// Softmax and its like: a function of one or two rows along an axis.
struct Along {
  int64_t outer = 1;
  int64_t n = 1;
  int64_t inner = 1;
};

Result<Along> along(const Node& node, const Shape& shape) {
  RONDO_ASSIGN_OR_RETURN(
      const int axis,
      resolve_axis(node.attrs().get<int64_t>("axis"), shape.rank()));
  Along a;
  a.n = shape[axis];
  for (int i = 0; i < axis; ++i) a.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) a.inner *= shape[i];
  return a;
}

// one(rows of the inputs, row of y). Rows that are not adjacent are copied.
template <class T, int kInputs, class F>
void along_rows(const Along& a, const std::array<const T*, kInputs>& x, T* y,
                const F& one) {
  const int64_t grain = std::max<int64_t>(1, 2048 / std::max<int64_t>(1, a.n));
  parallel_for(a.outer * a.inner, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> copy(
        a.inner == 1 ? 0 : static_cast<size_t>((kInputs + 1) * a.n));
    for (int64_t r = begin; r < end; ++r) {
      const int64_t at = r / a.inner * a.n * a.inner + r % a.inner;
      std::array<const T*, kInputs> rows{};
      T* to = a.inner == 1 ? y + at : copy.data() + kInputs * a.n;
      for (int i = 0; i < kInputs; ++i) {
        rows[static_cast<size_t>(i)] = x[static_cast<size_t>(i)] + at;
        if (a.inner == 1) continue;
        T* row = copy.data() + i * a.n;
        for (int64_t j = 0; j < a.n; ++j)
          row[j] = x[static_cast<size_t>(i)][at + j * a.inner];
        rows[static_cast<size_t>(i)] = row;
      }
      one(rows, to);
      if (a.inner != 1)
        for (int64_t j = 0; j < a.n; ++j) y[at + j * a.inner] = to[j];
    }
  });
}

template <bool kLog>
Status run_softmax(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Along a, along(node, c.input(0).shape()));
  const Tensor x = widen(c, c.input(0));
  WideOutput y(c, 0, c.input(0).dtype(), x.shape());
  dispatch_wide(x.dtype(), [&]<class T>() {
    const auto run = kLog ? row_ops<T>().log_softmax : row_ops<T>().softmax;
    along_rows<T, 1>(a, {x.span<T>().data()}, y.tensor().span<T>().data(),
                     [&](const auto& rows, T* to) { run(rows[0], to, a.n); });
  });
  y.finish();
  return {};
}

template <bool kLog>
Status run_softmax_grad(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Along a, along(node, c.input(0).shape()));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), c.input(0).shape(), "grad"));
  const Tensor y = widen(c, c.input(0));
  const Tensor g = widen(c, c.input(1));
  WideOutput dx(c, 0, c.input(0).dtype(), y.shape());
  dispatch_wide(y.dtype(), [&]<class T>() {
    const auto run =
        kLog ? row_ops<T>().log_softmax_grad : row_ops<T>().softmax_grad;
    along_rows<T, 2>(
        a, {y.span<T>().data(), g.span<T>().data()},
        dx.tensor().span<T>().data(),
        [&](const auto& rows, T* to) { run(rows[0], rows[1], to, a.n); });
  });
  dx.finish();
  return {};
}

Status run_dropout(const Node& node, KernelContext& c) {
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), c.input(0).shape(), "random"));
  const double rate = node.attrs().get<double>("rate");
  const Tensor x = widen(c, c.input(0));
  const Tensor random = widen(c, c.input(1));
  WideOutput y(c, 0, c.input(0).dtype(), x.shape());
  dispatch_wide(x.dtype(), [&]<class T>() {
    parallel_for(x.count(), 1 << 14, [&](int64_t begin, int64_t end) {
      row_ops<T>().dropout(x.span<T>().data() + begin,
                           random.span<T>().data() + begin,
                           static_cast<T>(rate), static_cast<T>(1 / (1 - rate)),
                           y.tensor().span<T>().data() + begin, end - begin);
    });
  });
  y.finish();
  return {};
}

}  // namespace

void register_nn_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run) {
    kernels.add(op, "cpu", from_function(run));
  };
  add("BiasAdd", run_bias_add);
  kernels.add("BiasAddGrad", "cpu", from_function(run_bias_add_grad, true));
  add("Softmax", run_softmax<false>);
  add("LogSoftmax", run_softmax<true>);
  add("SoftmaxGrad", run_softmax_grad<false>);
  add("LogSoftmaxGrad", run_softmax_grad<true>);
  add("Dropout", run_dropout);
  register_loss_kernels(kernels);
  register_norm_kernels(kernels);
  register_batch_norm_kernels(kernels);
  register_cell_kernels(kernels);
}

}  // namespace rondo
