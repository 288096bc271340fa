#include "rondo/graph/ops/reduction.h"

#include <cmath>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/register.h"
#include "rondo/graph/ops/shaping.h"

namespace rondo {
namespace {

using Grads = std::span<const Value>;
using Made = std::vector<Gradient>;

// Which of `rank` axes the attribute names; none names all.
Result<std::vector<bool>> reduced_axes(const Ints& axes, int rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), axes.empty());
  for (const int64_t axis : axes) {
    RONDO_ASSIGN_OR_RETURN(const int at, resolve_axis(axis, rank));
    if (reduced[static_cast<size_t>(at)])
      return error(Code::kInvalidArgument, "axis {} is named twice in {}", axis,
                   to_string(AttrValue(axes)));
    reduced[static_cast<size_t>(at)] = true;
  }
  return reduced;
}

Status infer_reduce(InferContext& c) {
  const PartialShape& x = c.shape(0);
  const Ints& axes = c.attr<Ints>("axes");
  const bool keep = c.attr<bool>("keep_dims");
  if (!x.has_rank()) {
    c.output(c.dtype(0),
             axes.empty() && !keep ? PartialShape::scalar() : PartialShape());
    return {};
  }
  RONDO_ASSIGN_OR_RETURN(const auto reduced, reduced_axes(axes, x.rank()));
  Ints extents;
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)])
      extents.push_back(x[i]);
    else if (keep)
      extents.push_back(1);
  }
  c.output(c.dtype(0), PartialShape(std::move(extents)));
  return {};
}

Status infer_scalar(InferContext& c) {
  c.output(c.dtype(0), PartialShape::scalar());
  return {};
}

Status infer_sum_grad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "shape"));
  const auto ints = c.constant_ints(1);
  c.output(c.dtype(0), ints ? PartialShape(*ints) : PartialShape());
  return {};
}

Status infer_prod_grad(InferContext& c) {
  c.output(c.dtype(0), c.shape(1));
  return {};
}

Status infer_restore_axes(InferContext& c) {
  const PartialShape& x = c.shape(0);
  const Ints& axes = c.attr<Ints>("axes");
  if (!x.has_rank()) {
    c.output(c.dtype(0), {});
    return {};
  }
  const int rank = x.rank() + static_cast<int>(axes.size());
  if (axes.empty()) return error(Code::kInvalidArgument, "it restores no axes");
  RONDO_ASSIGN_OR_RETURN(const auto reduced, reduced_axes(axes, rank));
  Ints extents;
  for (int i = 0, from = 0; i < rank; ++i)
    extents.push_back(reduced[static_cast<size_t>(i)] ? 1 : x[from++]);
  c.output(c.dtype(0), PartialShape(std::move(extents)));
  return {};
}

Attrs grad_attrs(Node& node) {
  return {{"axes", node.attrs().get<Ints>("axes")},
          {"keep_dims", node.attrs().get<bool>("keep_dims")}};
}

ReduceOptions options_of(Node& node) {
  return {node.attrs().get<Ints>("axes"), node.attrs().get<bool>("keep_dims")};
}

// What a reduction gave, or its gradient, so that it broadcasts against what
// was reduced. A scalar does as it is.
Value kept(Node& node, Value value) {
  const ReduceOptions options = options_of(node);
  if (options.keep_dims || options.axes.empty()) return value;
  return make("RestoreAxes", {value}, {{"axes", options.axes}});
}

Made restore_axes_gradient(Node& node, Grads g) {
  return {reshape(g[0], shape_of(node.input(0)))};
}

Made spread(Node& node, Value g, bool mean) {
  Attrs attrs = grad_attrs(node);
  attrs.set("mean", mean);
  return {make("SumGrad", {g, shape_of(node.input(0))}, std::move(attrs))};
}
Made sum_gradient(Node& node, Grads g) { return spread(node, g[0], false); }
Made mean_gradient(Node& node, Grads g) { return spread(node, g[0], true); }
Made sum_grad_gradient(Node& node, Grads g) {
  const bool mean = node.attrs().get<bool>("mean");
  return {make(mean ? "Mean" : "Sum", {g[0]}, grad_attrs(node)), {}};
}

Made prod_gradient(Node& node, Grads g) {
  return {make("ProdGrad", {g[0], node.input(0)}, grad_attrs(node))};
}

// x as [rows, elements of a product], and back.
class Products {
 public:
  Products(const Node& node, Value x) : moved_(x) {
    const PartialShape& shape = x.shape();
    if (shape.has_rank()) {
      const auto reduced =
          reduced_axes(node.attrs().get<Ints>("axes"), shape.rank()).value();
      for (const bool last : {false, true})
        for (int i = 0; i < shape.rank(); ++i) {
          if (reduced[static_cast<size_t>(i)] != last) continue;
          perm_.push_back(i);
          if (last && size_ != kAny)
            size_ = shape[i] == kAny ? kAny : size_ * shape[i];
        }
    }
    if (!shape.has_rank() || size_ == kAny)
      throw Error(Code::kInvalidArgument,
                  fmt::format("{}: the second derivative of a product needs "
                              "to know how many elements it has, but x has "
                              "shape {}",
                              node.describe(), shape.to_string()));
    moved_ = moved(x);
  }
  int64_t size() const { return size_; }
  Value flat(Value x) const { return reshape(moved(x), {-1, size_}); }
  Value restored(Value rows) const {
    Ints back(perm_.size());
    for (size_t i = 0; i < perm_.size(); ++i)
      back[static_cast<size_t>(perm_[i])] = static_cast<int64_t>(i);
    const Value whole = reshape(rows, shape_of(moved_));
    return back.empty() ? whole : transpose(whole, back);
  }

 private:
  Value moved(Value x) const { return perm_.empty() ? x : transpose(x, perm_); }

  Ints perm_;  // what stays, then what is reduced
  int64_t size_ = 1;
  Value moved_;
};

// dx[i] is dy times the product of all x but x[i]. Its gradient by x[k] takes
// the products of all but x[i] and x[k]: those of all but x[i] once more, in
// row k of a matrix in which 1 has the place of x[k].
Made prod_grad_gradient(Node& node, Grads g) {
  const Value dy = node.input(0), x = node.input(1);
  const Value others = make("ProdGrad", {ones_like(dy), x}, grad_attrs(node));
  const Value by_dy = reduce_sum(g[0] * others, options_of(node));
  const Products products(node, x);
  const int64_t n = products.size();
  if (n == 0) return {by_dy, zeros_like(x)};
  const Value rows = products.flat(x);
  const auto without_own = [&](Value v, Value own) {
    return matrix_set_diag(tile(expand_dims(v, 1), Ints{1, n, 1}), own);
  };
  const Value without = without_own(rows, ones_like(rows));
  const Value both =
      make("ProdGrad", {ones_like(rows), without}, {{"axes", Ints{-1}}});
  const Value parts = without_own(products.flat(g[0]), zeros_like(rows)) * both;
  return {by_dy,
          products.restored(reduce_sum(parts, {{-1}}) * reshape(dy, {-1, 1}))};
}

// Elements that share the extremum share the gradient.
Made extremum_gradient(Node& node, Grads g) {
  const Value x = node.input(0);
  const Value is = cast(equal(x, kept(node, node.output())), x.dtype());
  const Value shared = g[0] / reduce_sum(is, options_of(node));
  return {is * kept(node, shared)};
}

Made logsumexp_gradient(Node& node, Grads g) {
  const Value share = exp(node.input(0) - kept(node, node.output()));
  return {share * kept(node, g[0])};
}

Made l2_loss_gradient(Node& node, Grads g) { return {node.input(0) * g[0]}; }

std::vector<AttrSpec> reduce_attrs() {
  return {
      {"axes", Ints(), false,
       "which axes; negative ones count from the end, none means all"},
      {"keep_dims", false, false, "whether reduced axes stay, with extent 1"}};
}

struct Reduction {
  std::string_view name;
  std::string_view doc;
  TypeSet types;
  GradientFn gradient;
};

constexpr Reduction kReductions[] = {
    {"Sum", "The sum over axes. Integers wrap around.", TypeSet::kNumber,
     sum_gradient},
    {"Mean",
     "The mean over axes; NaN over no elements. Integers are divided towards "
     "zero.",
     TypeSet::kNumber, mean_gradient},
    {"Prod", "The product over axes. Integers wrap around.", TypeSet::kNumber,
     prod_gradient},
    {"Max",
     "The largest element over axes, NaN where there is one; over no elements "
     "the least value of the type. Equal elements share the gradient.",
     TypeSet::kNumber, extremum_gradient},
    {"Min",
     "The smallest element over axes, NaN where there is one; over no elements "
     "the greatest value of the type. Equal elements share the gradient.",
     TypeSet::kNumber, extremum_gradient},
    {"All", "Whether all elements over axes are true.", TypeSet::kBoolean,
     nullptr},
    {"Any", "Whether any element over axes is true.", TypeSet::kBoolean,
     nullptr},
    {"LogSumExp",
     "The logarithm of the sum of e^x over axes, without overflow.",
     TypeSet::kFloat, logsumexp_gradient},
};

Value reduce(std::string_view op, Value x, ReduceOptions options) {
  return make(
      op, {x},
      {{"axes", std::move(options.axes)}, {"keep_dims", options.keep_dims}});
}

}  // namespace

void register_reduction_ops(OpRegistry& ops) {
  for (const Reduction& op : kReductions)
    ops.add({.name = op.name,
             .doc = op.doc,
             .inputs = {{"x", op.types}},
             .outputs = {"y"},
             .attrs = reduce_attrs(),
             .infer = infer_reduce,
             .gradient = op.gradient,
             .constant = op.gradient == nullptr,
             .cost = op.name == "LogSumExp"
                         ? cost::per_input<0, cost::kFunction + 2>
                         : cost::per_input<0, 1>});
  ops.add({.name = "L2Loss",
           .doc = "Half the sum of the squares of all elements, a scalar.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"y"},
           .infer = infer_scalar,
           .gradient = l2_loss_gradient,
           .cost = cost::per_input<0, 2>});
  auto sum_grad_attrs = reduce_attrs();
  sum_grad_attrs.push_back(
      {"mean", false, false, "whether it is the gradient of Mean"});
  ops.add({.name = "SumGrad",
           .doc = "The gradient of Sum or Mean over axes of a tensor of the "
                  "given shape: dy repeated over those axes.",
           .inputs = {{"dy", TypeSet::kFloat, false, 0},
                      {"shape", TypeSet::kIndex, false, 0}},
           .outputs = {"dx"},
           .attrs = sum_grad_attrs,
           .infer = infer_sum_grad,
           .gradient = sum_grad_gradient,
           .cost = cost::per_output<1>});
  ops.add({.name = "ProdGrad",
           .doc = "The gradient of Prod(x), right also where x has zeros.",
           .inputs = {{"dy", TypeSet::kFloat}, {"x", TypeSet::kFloat}},
           .outputs = {"dx"},
           .attrs = reduce_attrs(),
           .infer = infer_prod_grad,
           .gradient = prod_grad_gradient,
           .cost = cost::per_output<4>});
  ops.add({.name = "RestoreAxes",
           .doc =
               "What a reduction without keep_dims gave, as it would be with "
               "it: the reduced axes are there again, with extent 1.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .attrs = {{"axes", Ints(), true, "which axes were reduced"}},
           .infer = infer_restore_axes,
           .gradient = restore_axes_gradient,
           .cost = cost::none});
}

Value reduce_sum(Value x, ReduceOptions options) {
  return reduce("Sum", x, std::move(options));
}
Value reduce_mean(Value x, ReduceOptions options) {
  return reduce("Mean", x, std::move(options));
}
Value reduce_prod(Value x, ReduceOptions options) {
  return reduce("Prod", x, std::move(options));
}
Value reduce_max(Value x, ReduceOptions options) {
  return reduce("Max", x, std::move(options));
}
Value reduce_min(Value x, ReduceOptions options) {
  return reduce("Min", x, std::move(options));
}
Value reduce_all(Value x, ReduceOptions options) {
  return reduce("All", x, std::move(options));
}
Value reduce_any(Value x, ReduceOptions options) {
  return reduce("Any", x, std::move(options));
}
Value reduce_logsumexp(Value x, ReduceOptions options) {
  return reduce("LogSumExp", x, std::move(options));
}
Value l2_loss(Value x) { return make("L2Loss", {x}); }

Value global_norm(const std::vector<Value>& values) {
  std::vector<Value> halves;
  for (const Value& value : values) halves.push_back(l2_loss(value));
  return sqrt(add_n(std::move(halves)) * 2);
}

Clipped clip_by_global_norm(const std::vector<Value>& values, Value clip_norm,
                            Value norm) {
  if (values.empty()) return {{}, norm};
  if (!norm) norm = global_norm(values);
  // An infinite norm makes every value NaN, so that it is noticed.
  const Value scale = clip_norm / maximum(norm, clip_norm);
  const Value finite =
      select(less(norm, scalar_like(norm, INFINITY)), scale, norm - norm);
  Clipped clipped{{}, norm};
  for (const Value& value : values) clipped.values.push_back(value * finite);
  return clipped;
}

Clipped clip_by_global_norm(const std::vector<Value>& values,
                            double clip_norm) {
  if (values.empty()) return {};
  return clip_by_global_norm(values, scalar_like(values[0], clip_norm));
}

}  // namespace rondo
