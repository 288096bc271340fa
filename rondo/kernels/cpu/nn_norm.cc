#include <cmath>

#include "rondo/kernels/cpu/nn_kernels.h"
#include "rondo/kernels/cpu/row_ops.h"
#include "rondo/kernels/cpu/widen.h"

namespace rondo {
namespace {

Result<Shape> rows_shape(const Shape& x) {
  if (x.rank() == 0)
    return error(Code::kInvalidArgument, "x is a scalar, expected rows");
  return Shape(x.extents().first(static_cast<size_t>(x.rank() - 1)));
}

Status run_layer_norm(const Node& node, KernelContext& c) {
  const double epsilon = node.attrs().get<double>("epsilon");
  const Shape shape = c.input(0).shape();
  RONDO_ASSIGN_OR_RETURN(const Shape per_row, rows_shape(shape));
  const LastAxisRows rows(shape);
  RONDO_RETURN_IF_ERROR(want_shape(c.input(1), {rows.n}, "scale"));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(2), {rows.n}, "offset"));
  const Tensor x = widen(c, c.input(0));
  const Tensor scale = widen(c, c.input(1));
  const Tensor offset = widen(c, c.input(2));
  WideOutput y(c, 0, c.input(0).dtype(), shape);
  Tensor& mean = c.allocate(1, x.dtype(), per_row);
  Tensor& rstd = c.allocate(2, x.dtype(), per_row);
  dispatch_wide(x.dtype(), [&]<class T>() {
    const RowOps<T>& ops = row_ops<T>();
    T* to = y.tensor().span<T>().data();
    parallel_for(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* from = x.span<T>().data() + r * rows.n;
        const RowMoments<T> m = ops.moments(from, rows.n);
        const LayerNormRow<T> row{
            from, scale.span<T>().data(), rows.n, m.mean,
            1 / std::sqrt(m.deviations / static_cast<T>(rows.n) +
                          static_cast<T>(epsilon))};
        mean.span<T>()[static_cast<size_t>(r)] = row.mean;
        rstd.span<T>()[static_cast<size_t>(r)] = row.rstd;
        ops.layer_norm(row, offset.span<T>().data(), to + r * rows.n);
      }
    });
  });
  y.finish();
  return {};
}

Status run_layer_norm_grad(const Node&, KernelContext& c) {
  const Shape shape = c.input(1).shape();
  RONDO_ASSIGN_OR_RETURN(const Shape per_row, rows_shape(shape));
  const LastAxisRows rows(shape);
  RONDO_RETURN_IF_ERROR(want_shape(c.input(0), shape, "grad"));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(2), {rows.n}, "scale"));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(3), per_row, "mean"));
  RONDO_RETURN_IF_ERROR(want_shape(c.input(4), per_row, "rstd"));
  const DType dtype = c.input(0).dtype();
  const Tensor g = widen(c, c.input(0));
  const Tensor x = widen(c, c.input(1));
  const Tensor scale = widen(c, c.input(2));
  const Tensor mean = widen(c, c.input(3));
  const Tensor rstd = widen(c, c.input(4));
  if (mean.dtype() != x.dtype())
    return error(Code::kInvalidArgument, "x has type {}, its mean {}",
                 name_of(x.dtype()), name_of(mean.dtype()));
  WideOutput dx(c, 0, dtype, shape);
  WideOutput dscale(c, 1, dtype, {rows.n});
  WideOutput doffset(c, 2, dtype, {rows.n});
  dispatch_wide(x.dtype(), [&]<class T>() {
    const int64_t parts = parts_of(rows.count, rows.n);
    ScratchZeros<T> scales(c, parts * rows.n);
    ScratchZeros<T> offsets(c, parts * rows.n);
    for_parts(parts, rows.count, [&](int64_t p, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t at = r * rows.n;
        const LayerNormRow<T> row{x.span<T>().data() + at,
                                  scale.span<T>().data(), rows.n,
                                  mean.span<T>()[static_cast<size_t>(r)],
                                  rstd.span<T>()[static_cast<size_t>(r)]};
        row_ops<T>().layer_norm_grad(
            row, g.span<T>().data() + at, dx.tensor().span<T>().data() + at,
            scales.data() + p * rows.n, offsets.data() + p * rows.n);
      }
    });
    add_parts(scales.data(), parts, rows.n, dscale.tensor().span<T>().data());
    add_parts(offsets.data(), parts, rows.n, doffset.tensor().span<T>().data());
  });
  dx.finish();
  dscale.finish();
  doffset.finish();
  return {};
}

// Local response normalisation of one row.
struct Lrn {
  explicit Lrn(const Node& node)
      : radius(node.attrs().get<int64_t>("depth_radius")),
        bias(node.attrs().get<double>("bias")),
        alpha(node.attrs().get<double>("alpha")),
        beta(node.attrs().get<double>("beta")) {}

  // to[i] = the sum of f(j) over the neighbours j of i. In double, as what
  // leaves the window is subtracted again.
  template <class T, class F>
  void window(int64_t n, T* to, const F& f) const {
    double sum = 0;
    for (int64_t j = 0; j < std::min(n, radius); ++j) sum += f(j);
    for (int64_t i = 0; i < n; ++i) {
      if (i + radius < n) sum += f(i + radius);
      to[i] = static_cast<T>(sum);
      if (i >= radius) sum -= f(i - radius);
    }
  }
  template <class T>
  void norms(const T* x, T* to, int64_t n) const {
    window(n, to, [&](int64_t j) { return static_cast<double>(x[j]) * x[j]; });
    for (int64_t i = 0; i < n; ++i)
      to[i] = static_cast<T>(bias + alpha * to[i]);
  }
  template <class T>
  T scale(T norm) const {
    if (beta == 0.5) return 1 / std::sqrt(norm);
    if (beta == 0.75) return 1 / (std::sqrt(norm) * std::sqrt(std::sqrt(norm)));
    return std::pow(norm, static_cast<T>(-beta));
  }

  int64_t radius;
  double bias, alpha, beta;
};

Status run_lrn(const Node& node, KernelContext& c) {
  const Lrn lrn(node);
  const Tensor x = widen(c, c.input(0));
  RONDO_RETURN_IF_ERROR(rows_shape(x.shape()).status());
  const LastAxisRows rows(x.shape());
  WideOutput y(c, 0, c.input(0).dtype(), x.shape());
  dispatch_wide(x.dtype(), [&]<class T>() {
    T* to = y.tensor().span<T>().data();
    parallel_for(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      std::vector<T> norm(static_cast<size_t>(rows.n));
      for (int64_t r = begin; r < end; ++r) {
        const T* row = x.span<T>().data() + r * rows.n;
        lrn.norms(row, norm.data(), rows.n);
        for (int64_t i = 0; i < rows.n; ++i)
          to[r * rows.n + i] = row[i] * lrn.scale(norm[static_cast<size_t>(i)]);
      }
    });
  });
  y.finish();
  return {};
}

Status run_lrn_grad(const Node& node, KernelContext& c) {
  const Lrn lrn(node);
  const Tensor g = widen(c, c.input(0));
  const Tensor x = widen(c, c.input(1));
  const Tensor y = widen(c, c.input(2));
  RONDO_RETURN_IF_ERROR(rows_shape(x.shape()).status());
  RONDO_RETURN_IF_ERROR(want_shape(g, x.shape(), "grad"));
  RONDO_RETURN_IF_ERROR(want_shape(y, x.shape(), "y"));
  const LastAxisRows rows(x.shape());
  WideOutput dx(c, 0, c.input(0).dtype(), x.shape());
  dispatch_wide(x.dtype(), [&]<class T>() {
    T* to = dx.tensor().span<T>().data();
    const auto factor = static_cast<T>(2 * lrn.alpha * lrn.beta);
    parallel_for(rows.count, rows.grain(), [&](int64_t begin, int64_t end) {
      std::vector<T> norm(static_cast<size_t>(rows.n)), sums(norm.size());
      for (int64_t r = begin; r < end; ++r) {
        const int64_t at = r * rows.n;
        const T* xr = x.span<T>().data() + at;
        const T* yr = y.span<T>().data() + at;
        const T* gr = g.span<T>().data() + at;
        lrn.norms(xr, norm.data(), rows.n);
        lrn.window(rows.n, sums.data(), [&](int64_t j) {
          return static_cast<double>(gr[j]) * yr[j] /
                 norm[static_cast<size_t>(j)];
        });
        for (int64_t i = 0; i < rows.n; ++i) {
          const auto k = static_cast<size_t>(i);
          to[at + i] = gr[i] * lrn.scale(norm[k]) - factor * xr[i] * sums[k];
        }
      }
    });
  });
  dx.finish();
  return {};
}

}  // namespace

void register_norm_kernels(KernelRegistry& kernels) {
  const auto add = [&](std::string_view op, KernelFn run) {
    kernels.add(op, "cpu", from_function(run));
  };
  add("LayerNorm", run_layer_norm);
  add("LayerNormGrad", run_layer_norm_grad);
  add("LRN", run_lrn);
  add("LRNGrad", run_lrn_grad);
}

}  // namespace rondo
