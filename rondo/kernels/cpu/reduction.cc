#include <cmath>

#include "rondo/kernels/cpu/broadcast.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/elementwise.h"
#include "rondo/kernels/cpu/reduce_plan.h"
#include "rondo/kernels/cpu/register.h"

namespace rondo {
namespace {

class Reduction final : public Kernel {
 public:
  Reduction(const Node& node, Reduce op, bool mean)
      : op_(op),
        mean_(mean),
        axes_(node.attrs().get<Ints>("axes")),
        keep_dims_(node.attrs().get<bool>("keep_dims")) {}
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    RONDO_ASSIGN_OR_RETURN(const AxisSet axes,
                           axis_set(axes_, x.shape().rank()));
    const Shape shape = reduced_shape(x.shape(), axes, keep_dims_);
    const int64_t count = reduced_count(x.shape(), axes);
    if (count == 1) {
      c.set_output(0, x.reshape(shape));
      return {};
    }
    ReduceArgs args{.op = op_, .reduced = axes};
    if (mean_) {
      if (count == 0 && shape.count() > 0 &&
          contains(TypeSet::kInteger, x.dtype()))
        return error(Code::kInvalidArgument,
                     "the mean of no integers: x has shape {}",
                     x.shape().to_string());
      args.scale = 1 / static_cast<double>(count);
      args.divisor = std::max<int64_t>(1, count);
      // Of nothing: zero times infinity, which is NaN.
    }
    reduce_tensor(args, x, c.allocate(0, x.dtype(), shape), c);
    return {};
  }

 private:
  const Reduce op_;
  const bool mean_;
  const Ints axes_;
  const bool keep_dims_;
};

Status run_l2_loss(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const AxisSet axes, axis_set({}, x.shape().rank()));
  reduce_tensor({.op = Reduce::kSumSquares, .reduced = axes, .scale = 0.5}, x,
                c.allocate(0, x.dtype(), {}), c);
  return {};
}

Status run_sum_to(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  RONDO_ASSIGN_OR_RETURN(const Shape to, shape_from(c.input(1)));
  if (to == x.shape()) {
    c.set_output(0, x);
    return {};
  }
  const int more = x.shape().rank() - to.rank();
  bool fits = more >= 0 && x.shape().rank() <= kMaxReduceAxes;
  AxisSet axes = 0;
  for (int i = 0; fits && i < x.shape().rank(); ++i) {
    const int64_t want = i < more ? 1 : to[i - more];
    if (i < more || (want == 1 && x.shape()[i] != 1))
      axes |= AxisSet{1} << i;
    else
      fits = want == x.shape()[i];
  }
  if (!fits)
    return error(Code::kInvalidArgument,
                 "no tensor of shape {} can be broadcast to {}", to.to_string(),
                 x.shape().to_string());
  if (to.count() == x.count()) {
    c.set_output(0, x.reshape(to));
    return {};
  }
  reduce_tensor({.reduced = axes}, x, c.allocate(0, x.dtype(), to), c);
  return {};
}

// dy under the shape that it broadcasts from.
Result<Tensor> keep_axes(const Tensor& dy, const Shape& shape, AxisSet axes) {
  const Shape kept = reduced_shape(shape, axes, true);
  if (kept.count() != dy.count())
    return error(Code::kInvalidArgument,
                 "dy has shape {}, expected {} or the same without the axes of "
                 "extent 1 that were reduced",
                 dy.shape().to_string(), kept.to_string());
  return dy.reshape(kept);
}

Tensor divided(const Tensor& x, double by, KernelContext& c) {
  Tensor y = c.scratch(x.dtype(), x.shape());
  dispatch_float(x.dtype(), [&]<class T>() {
    const auto from = x.span<T>();
    const auto to = y.span<T>();
    for (size_t i = 0; i < from.size(); ++i)
      to[i] = store<T>(static_cast<Computed<T>>(load(from[i]) / by));
  });
  return y;
}

Status run_sum_grad(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(const Shape shape, shape_from(c.input(1)));
  RONDO_ASSIGN_OR_RETURN(
      const AxisSet axes,
      axis_set(node.attrs().get<Ints>("axes"), shape.rank()));
  RONDO_ASSIGN_OR_RETURN(Tensor dy, keep_axes(c.input(0), shape, axes));
  if (node.attrs().get<bool>("mean"))
    dy = divided(dy, static_cast<double>(reduced_count(shape, axes)), c);
  if (dy.shape() == shape) {
    c.set_output(0, dy);
    return {};
  }
  Tensor one = c.scratch(dy.dtype(), {});
  dispatch_float(dy.dtype(), [&]<class T>() {
    one.span<T>()[0] = store<T>(static_cast<Computed<T>>(1));
  });
  return run_binary(BinaryOp::kMul, dy, one, c.allocate(0, dy.dtype(), shape));
}

// With one zero among the factors, only that one has a gradient: the product of
// the others. With more, none has.
template <class T>
Status prod_grad(const Tensor& dy, const Tensor& x, Tensor& dx,
                 KernelContext& c) {
  const Shape* const shapes[] = {&x.shape(), &dy.shape()};
  RONDO_ASSIGN_OR_RETURN(const Broadcast plan,
                         plan_broadcast(x.shape(), shapes));
  Tensor products = c.scratch(DType::kF64, {dy.count()});
  Tensor zeros = c.scratch(DType::kI64, {dy.count()});
  const auto product = products.span<double>();
  const auto zero = zeros.span<int64_t>();
  std::ranges::fill(product, 1.0);
  std::ranges::fill(zero, 0);
  const auto in = x.span<T>();
  const auto g = dy.span<T>();
  const auto out = dx.span<T>();
  const Broadcast::Steps& step = plan.inner_step();
  // Threads would share the products of a row.
  const auto each = [&](const auto& f) {
    std::array<int64_t, Broadcast::kMaxAxes> index{};
    int64_t at = 0;
    int64_t from = 0;
    const int64_t rows = plan.rows();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < plan.width(); ++i, ++at)
        f(static_cast<size_t>(at), static_cast<size_t>(from + i * step[1]));
      for (int axis = plan.axes - 2; axis >= 0; --axis) {
        const auto a = static_cast<size_t>(axis);
        from += plan.step[a][1];
        if (++index[a] < plan.extent[a]) break;
        from -= plan.extent[a] * plan.step[a][1];
        index[a] = 0;
      }
    }
  };
  each([&](size_t i, size_t k) {
    const auto value = static_cast<double>(load(in[i]));
    if (value == 0)
      ++zero[k];
    else
      product[k] *= value;
  });
  each([&](size_t i, size_t k) {
    const auto value = static_cast<double>(load(in[i]));
    double others = 0;
    if (zero[k] == 0)
      others = product[k] / value;
    else if (zero[k] == 1 && value == 0)
      others = product[k];
    out[i] = store<T>(
        static_cast<Computed<T>>(static_cast<double>(load(g[k])) * others));
  });
  return {};
}

Status run_prod_grad(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(1);
  RONDO_ASSIGN_OR_RETURN(
      const AxisSet axes,
      axis_set(node.attrs().get<Ints>("axes"), x.shape().rank()));
  RONDO_ASSIGN_OR_RETURN(const Tensor dy,
                         keep_axes(c.input(0), x.shape(), axes));
  Tensor& dx = c.allocate(0, x.dtype(), x.shape());
  if (x.count() == 0) return {};
  return dispatch_float(x.dtype(), [&]<class T>() -> Status {
    return prod_grad<T>(dy, x, dx, c);
  });
}

template <class T>
void only_finite(Tensor& t) {
  for (T& value : t.span<T>())
    if (!std::isfinite(value)) value = 0;
}

// The largest element is taken out before, so that nothing overflows.
Status run_log_sum_exp(const Node& node, KernelContext& c) {
  const Tensor& input = c.input(0);
  RONDO_ASSIGN_OR_RETURN(
      const AxisSet axes,
      axis_set(node.attrs().get<Ints>("axes"), input.shape().rank()));
  const bool narrowed =
      input.dtype() == DType::kF16 || input.dtype() == DType::kBF16;
  const DType dtype = narrowed ? DType::kF32 : input.dtype();
  Tensor x = input;
  if (narrowed) {
    x = c.scratch(dtype, input.shape());
    widen(input.dtype(), input.data(), x.span<float>().data(), x.count());
  }
  const Shape kept = reduced_shape(x.shape(), axes, true);
  Tensor largest = c.scratch(dtype, kept);
  reduce_tensor({.op = Reduce::kMax, .reduced = axes}, x, largest, c);
  if (dtype == DType::kF32)
    only_finite<float>(largest);
  else
    only_finite<double>(largest);
  Tensor powers = c.scratch(dtype, x.shape());
  RONDO_RETURN_IF_ERROR(run_binary(BinaryOp::kSub, x, largest, powers));
  run_unary(UnaryOp::kExp, powers, powers);
  Tensor sums = c.scratch(dtype, kept);
  reduce_tensor({.reduced = axes}, powers, sums, c);
  run_unary(UnaryOp::kLog, sums, sums);
  RONDO_RETURN_IF_ERROR(run_binary(BinaryOp::kAdd, sums, largest, sums));
  const Shape shape =
      reduced_shape(x.shape(), axes, node.attrs().get<bool>("keep_dims"));
  if (!narrowed) {
    c.set_output(0, sums.reshape(shape));
    return {};
  }
  Tensor& y = c.allocate(0, input.dtype(), shape);
  narrow(y.dtype(), sums.span<float>().data(), y.data(), y.count());
  return {};
}

Status run_restore_axes(const Node& node, KernelContext& c) {
  const Tensor& x = c.input(0);
  const Ints& axes = node.attrs().get<Ints>("axes");
  const int rank = x.shape().rank() + static_cast<int>(axes.size());
  RONDO_ASSIGN_OR_RETURN(const AxisSet set, axis_set(axes, rank));
  std::vector<int64_t> extents;
  for (int i = 0, from = 0; i < rank; ++i)
    extents.push_back(has_axis(set, i) ? 1 : x.shape()[from++]);
  c.set_output(0, x.reshape(Shape(extents)));
  return {};
}

struct Entry {
  std::string_view name;
  Reduce op;
  bool mean = false;
};
constexpr Entry kEntries[] = {
    {"Sum", Reduce::kSum},     {"Mean", Reduce::kSum, true},
    {"Prod", Reduce::kProd},   {"Max", Reduce::kMax},
    {"Min", Reduce::kMin},     {"All", Reduce::kAllTrue},
    {"Any", Reduce::kAnyTrue},
};

}  // namespace

void register_reduction_kernels(KernelRegistry& kernels) {
  for (const Entry& entry : kEntries)
    kernels.add(entry.name, "cpu", [entry](const Node& node, Resources&) {
      return std::make_unique<Reduction>(node, entry.op, entry.mean);
    });
  kernels.add("L2Loss", "cpu", from_function(run_l2_loss));
  kernels.add("SumTo", "cpu", from_function(run_sum_to));
  kernels.add("SumGrad", "cpu", from_function(run_sum_grad));
  kernels.add("ProdGrad", "cpu", from_function(run_prod_grad));
  kernels.add("LogSumExp", "cpu", from_function(run_log_sum_exp));
  kernels.add("RestoreAxes", "cpu", from_function(run_restore_axes));
}

}  // namespace rondo
