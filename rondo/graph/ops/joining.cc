#include "rondo/graph/ops/joining.h"

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"

namespace rondo {
namespace {

using array::all_grads;
using array::extents_of;
using array::outputs_of;

Status infer_concat(InferContext& c) {
  const int64_t wanted = c.attr<int64_t>("axis");
  if (c.inputs() == 0)
    return error(Code::kInvalidArgument, "there is nothing to concatenate");
  PartialShape all;  // with the axis open
  int64_t sum = 0;
  int axis = 0;
  for (int i = 0; i < c.inputs(); ++i) {
    PartialShape shape = c.shape(i);
    if (!shape.has_rank()) {
      sum = kAny;
      continue;
    }
    if (shape.rank() == 0)
      return error(Code::kInvalidArgument,
                   "input {} is a scalar, which cannot be concatenated; use "
                   "stack",
                   i);
    RONDO_ASSIGN_OR_RETURN(axis, resolve_axis(wanted, shape.rank()));
    const int64_t extent = shape[axis];
    if (sum != kAny) sum = extent == kAny ? kAny : sum + extent;
    shape.set(axis, kAny);
    auto both = merge(all, shape);
    if (!both.ok())
      return error(
          Code::kInvalidArgument,
          "input {} has shape {}, which differs from the shapes before "
          "it, {}, in more than axis {}",
          i, c.shape(i).to_string(), all.to_string(), axis);
    all = *both;
  }
  if (all.has_rank()) all.set(axis, sum);
  c.output(c.dtype(0), all);
  return {};
}

std::vector<Gradient> concat_gradient(Node& node,
                                      std::span<const Value> grads) {
  const int64_t wanted = node.attrs().get<int64_t>("axis");
  if (node.inputs().size() == 1) return {grads[0]};
  Ints sizes;
  for (const Value& x : node.inputs()) {
    if (!x.shape().has_rank()) break;
    const int64_t extent =
        x.shape()[resolve_axis(wanted, x.shape().rank()).value()];
    if (extent == kAny) break;
    sizes.push_back(extent);
  }
  std::vector<Value> parts;
  if (sizes.size() == node.inputs().size()) {
    parts = split(grads[0], sizes, wanted);
  } else {
    std::vector<Value> inputs = {grads[0]};
    for (const Value& x : node.inputs()) inputs.push_back(shape_of(x));
    parts = outputs_of(node.graph().add({.op = "SplitLike",
                                         .inputs = std::move(inputs),
                                         .attrs = {{"axis", wanted}}}));
  }
  return {parts.begin(), parts.end()};
}

// The axis of input 0 that the attribute names; kAny where the rank is unknown.
Result<int> axis_of(InferContext& c) {
  const PartialShape& x = c.shape(0);
  if (!x.has_rank()) return static_cast<int>(kAny);
  return resolve_axis(c.attr<int64_t>("axis"), x.rank());
}

Status infer_split(InferContext& c) {
  const int64_t num = c.attr<int64_t>("num");
  if (num < 1)
    return error(Code::kInvalidArgument, "num is {}, expected 1 or more", num);
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(c));
  PartialShape part = c.shape(0);
  if (axis != kAny && part[axis] != kAny) {
    if (part[axis] % num != 0)
      return error(Code::kInvalidArgument,
                   "axis {} has extent {}, which {} parts cannot share evenly",
                   axis, part[axis], num);
    part.set(axis, part[axis] / num);
  }
  for (int64_t i = 0; i < num; ++i) c.output(c.dtype(0), part);
  return {};
}

Status infer_split_v(InferContext& c) {
  Ints sizes = c.attr<Ints>("sizes");
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(c));
  const PartialShape& x = c.shape(0);
  int64_t sum = 0;
  int64_t* rest = nullptr;
  for (int64_t& size : sizes) {
    if (size < -1 || (size == -1 && rest))
      return error(Code::kInvalidArgument,
                   "sizes are {}, expected 0 or more, and at most one -1",
                   to_string(AttrValue(c.attr<Ints>("sizes"))));
    if (size == -1)
      rest = &size;
    else
      sum += size;
  }
  if (axis != kAny && x[axis] != kAny) {
    if (rest ? sum > x[axis] : sum != x[axis])
      return error(Code::kInvalidArgument,
                   "sizes {} add up to {}, but axis {} has extent {}",
                   to_string(AttrValue(c.attr<Ints>("sizes"))), sum, axis,
                   x[axis]);
    if (rest) *rest = x[axis] - sum;
  }
  for (const int64_t size : sizes) {
    PartialShape part = x;
    if (axis != kAny) part.set(axis, size);
    c.output(c.dtype(0), part);
  }
  return {};
}

Status infer_split_like(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(c));
  for (int i = 1; i < c.inputs(); ++i) {
    PartialShape part = c.shape(0);
    const auto extents = c.constant_ints(i);
    if (axis != kAny) {
      const auto at = static_cast<size_t>(axis);
      part.set(axis, extents && extents->size() > at ? (*extents)[at] : kAny);
    }
    c.output(c.dtype(0), part);
  }
  return {};
}

std::vector<Gradient> split_gradient(Node& node, std::span<const Value> grads) {
  std::vector<Gradient> back(node.inputs().size());
  back[0] = concat(all_grads(node, grads), node.attrs().get<int64_t>("axis"));
  return back;
}

Status infer_stack(InferContext& c) {
  if (c.inputs() == 0)
    return error(Code::kInvalidArgument, "there is nothing to stack");
  PartialShape all;
  for (int i = 0; i < c.inputs(); ++i) {
    auto both = merge(all, c.shape(i));
    if (!both.ok())
      return error(Code::kInvalidArgument,
                   "input {} has shape {}, those before it {}", i,
                   c.shape(i).to_string(), all.to_string());
    all = *both;
  }
  if (!all.has_rank()) {
    c.output(c.dtype(0), {});
    return {};
  }
  RONDO_ASSIGN_OR_RETURN(const int axis,
                         resolve_axis(c.attr<int64_t>("axis"), all.rank() + 1));
  Ints extents = extents_of(all);
  extents.insert(extents.begin() + axis, c.inputs());
  c.output(c.dtype(0), PartialShape(std::move(extents)));
  return {};
}

std::vector<Gradient> stack_gradient(Node& node, std::span<const Value> grads) {
  const auto parts = unstack(grads[0], node.attrs().get<int64_t>("axis"),
                             static_cast<int64_t>(node.inputs().size()));
  return {parts.begin(), parts.end()};
}

Status infer_unstack(InferContext& c) {
  int64_t num = c.attr<int64_t>("num");
  RONDO_ASSIGN_OR_RETURN(const int axis, axis_of(c));
  PartialShape part = c.shape(0);
  if (axis != kAny) {
    const int64_t extent = part[axis];
    if (num != 0 && extent != kAny && num != extent)
      return error(Code::kInvalidArgument,
                   "num is {}, but axis {} has extent {}", num, axis, extent);
    if (extent != kAny) num = extent;
    Ints extents = extents_of(part);
    extents.erase(extents.begin() + axis);
    part = PartialShape(std::move(extents));
    if (num == 0 && extent == 0) return {};
  }
  if (num < 1)
    return error(Code::kInvalidArgument,
                 "the extent of the axis is not known, and num, which would "
                 "say it, is {}",
                 num);
  for (int64_t i = 0; i < num; ++i) c.output(c.dtype(0), part);
  return {};
}

std::vector<Gradient> unstack_gradient(Node& node,
                                       std::span<const Value> grads) {
  return {stack(all_grads(node, grads), node.attrs().get<int64_t>("axis"))};
}

AttrSpec axis_attr(std::string_view doc, bool required = false) {
  return {"axis", int64_t{0}, required, doc};
}

}  // namespace

void register_joining_ops(OpRegistry& ops) {
  constexpr std::string_view kAxis = "the axis; negative counts from the end";
  ops.add({.name = "Concat",
           .doc = "The tensors one behind the other along an axis. Their other "
                  "extents must be equal.",
           .inputs = {{"values", TypeSet::kAnyType, true}},
           .outputs = {"joined"},
           .attrs = {axis_attr(kAxis, true)},
           .infer = infer_concat,
           .gradient = concat_gradient,
           .cost = cost::copied});
  ops.add(
      {.name = "Split",
       .doc = "x cut along an axis into parts of the same extent.",
       .inputs = {{"x"}},
       .outputs = {"parts"},
       .attrs = {{"num", int64_t{1}, true, "how many parts"}, axis_attr(kAxis)},
       .infer = infer_split,
       .gradient = split_gradient,
       .cost = cost::copied});
  ops.add({.name = "SplitV",
           .doc = "x cut along an axis into parts of given extents.",
           .inputs = {{"x"}},
           .outputs = {"parts"},
           .attrs = {{"sizes", Ints(), true,
                      "the extents of the parts; one may be -1, which means "
                      "what is left"},
                     axis_attr(kAxis)},
           .infer = infer_split_v,
           .gradient = split_gradient,
           .cost = cost::copied});
  ops.add({.name = "SplitLike",
           .doc =
               "x cut along an axis into parts of the extents that the given "
               "shapes have there: the gradient of Concat.",
           .inputs = {{"x", TypeSet::kAnyType, false, 0},
                      {"shapes", TypeSet::kIndex, true, 0}},
           .outputs = {"parts"},
           .attrs = {axis_attr(kAxis)},
           .infer = infer_split_like,
           .gradient = split_gradient,
           .cost = cost::moved});
  ops.add({.name = "Stack",
           .doc =
               "Tensors of one shape as the slices of a tensor with one axis "
               "more.",
           .inputs = {{"values", TypeSet::kAnyType, true}},
           .outputs = {"stacked"},
           .attrs = {axis_attr("where the new axis is in the result; negative "
                               "counts from its end")},
           .infer = infer_stack,
           .gradient = stack_gradient,
           .cost = cost::copied});
  ops.add({.name = "Unstack",
           .doc = "The slices of x along an axis, without that axis.",
           .inputs = {{"x"}},
           .outputs = {"slices"},
           .attrs = {{"num", int64_t{0}, false,
                      "how many slices there are; needed only where the shape "
                      "of x does not say so"},
                     axis_attr(kAxis)},
           .infer = infer_unstack,
           .gradient = unstack_gradient,
           .cost = cost::copied});
}

Value concat(std::vector<Value> values, int64_t axis) {
  return make("Concat", std::move(values), {{"axis", axis}});
}

std::vector<Value> split(Value x, int64_t num, int64_t axis) {
  return outputs_of(*make("Split", {x}, {{"num", num}, {"axis", axis}}).node);
}

std::vector<Value> split(Value x, const Ints& sizes, int64_t axis) {
  return outputs_of(
      *make("SplitV", {x}, {{"sizes", sizes}, {"axis", axis}}).node);
}

Value stack(std::vector<Value> values, int64_t axis) {
  return make("Stack", std::move(values), {{"axis", axis}});
}

std::vector<Value> unstack(Value x, int64_t axis, int64_t num) {
  return outputs_of(*make("Unstack", {x}, {{"num", num}, {"axis", axis}}).node);
}

}  // namespace rondo
