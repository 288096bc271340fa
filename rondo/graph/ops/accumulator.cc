#include "rondo/graph/ops/accumulator.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/waiting_ops.h"

namespace rondo {
namespace {

PartialShape rows_of(const PartialShape& shape, int64_t rows) {
  if (!shape.has_rank()) return shape;
  Ints extents(shape.extents().begin(), shape.extents().end());
  extents[0] = rows;
  return PartialShape(extents);
}

Status check_gradient(InferContext& c, int i, const PartialShape& wanted) {
  const auto dtype = c.attr<DType>("dtype");
  if (c.dtype(i) != dtype)
    return error(Code::kInvalidArgument,
                 "the accumulator \"{}\" has type {}, the gradient {}",
                 c.attr<std::string>("accumulator"), name_of(dtype),
                 name_of(c.dtype(i)));
  if (!wanted.compatible(c.shape(i)))
    return error(Code::kInvalidArgument,
                 "the accumulator \"{}\" takes gradients of shape {}, not {}",
                 c.attr<std::string>("accumulator"), wanted.to_string(),
                 c.shape(i).to_string());
  return {};
}

Status infer_apply(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_accumulator(c));
  RONDO_RETURN_IF_ERROR(c.want_scalar(0, "local_step"));
  return check_gradient(c, 1, c.attr<PartialShape>("shape"));
}

// values, indices, shape
Status infer_sparse_apply(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_accumulator(c));
  RONDO_RETURN_IF_ERROR(c.want_scalar(0, "local_step"));
  RONDO_RETURN_IF_ERROR(c.want_rank(2, 1, "indices"));
  RONDO_RETURN_IF_ERROR(c.want_rank(3, 1, "shape"));
  PartialShape shape = c.attr<PartialShape>("shape");
  if (const auto ints = c.constant_ints(3); ints && !ints->empty()) {
    auto both = merge(shape, PartialShape(*ints));
    if (!both.ok())
      return error(Code::kInvalidArgument,
                   "the accumulator \"{}\" takes gradients of shape {}, not {}",
                   c.attr<std::string>("accumulator"), shape.to_string(),
                   PartialShape(*ints).to_string());
    shape = *both;
  }
  const PartialShape& indices = c.shape(2);
  return check_gradient(c, 1,
                        rows_of(shape, indices.has_rank() ? indices[0] : kAny));
}

Status infer_take(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_accumulator(c));
  RONDO_RETURN_IF_ERROR(c.want_scalar(0, "num_required"));
  const auto n = c.constant_ints(0);
  if (n && n->size() == 1 && (*n)[0] < 1)
    return error(Code::kInvalidArgument,
                 "num_required is {}: expected at least 1", (*n)[0]);
  const auto& shape = c.attr<PartialShape>("shape");
  if (!c.attr<bool>("sparse")) {
    c.output(c.attr<DType>("dtype"), shape);
    return {};
  }
  c.output(c.attr<DType>("dtype"), rows_of(shape, kAny));
  c.output(DType::kI64, PartialShape::of_rank(1));
  c.output(DType::kI64, shape.has_rank() ? PartialShape{shape.rank()}
                                         : PartialShape::of_rank(1));
  return {};
}

Status infer_set_step(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_accumulator(c));
  return c.want_scalar(0, "step");
}

Status infer_count(InferContext& c) {
  c.output(DType::kI64, PartialShape::scalar());
  return check_accumulator(c);
}

std::vector<AttrSpec> accumulator_attrs(bool sparse) {
  return {{"accumulator", std::string(), true, "the accumulator's name"},
          {"dtype", DType::kF32, false, "type of the gradients"},
          {"shape", PartialShape(), false,
           "their shape; unknown: that of the first"},
          {"reduction_type", std::string("MEAN"), false, "or SUM"},
          {"sparse", sparse, false, "whether they are rows of a tensor"}};
}

struct Form {
  std::string_view name;
  std::string_view doc;
  std::vector<InputSpec> inputs;
  std::vector<std::string_view> outputs;
  InferFn infer;
  CostFn cost;
  bool sparse = false;
};

void add_op(OpRegistry& ops, const Form& form) {
  ops.add({.name = form.name,
           .doc = form.doc,
           .inputs = form.inputs,
           .outputs = form.outputs,
           .attrs = accumulator_attrs(form.sparse),
           .infer = form.infer,
           .constant = true,
           .cost = form.cost,
           .kind = OpKind::kStateful,
           .waits = form.infer == infer_take});
}

constexpr InputSpec kLocalStep = {"local_step", TypeSet::kIndex, false, 0};
constexpr InputSpec kNumRequired = {"num_required", TypeSet::kIndex, false, 0};

}  // namespace

Status check_accumulator(InferContext& c) {
  const auto dtype = c.attr<DType>("dtype");
  if (!contains(TypeSet::kFloat, dtype))
    return error(Code::kInvalidArgument,
                 "the type of its accumulator is {}, expected {}",
                 name_of(dtype), name_of(TypeSet::kFloat));
  const auto& reduction = c.attr<std::string>("reduction_type");
  if (reduction != "MEAN" && reduction != "SUM")
    return error(Code::kInvalidArgument,
                 "reduction_type is \"{}\", expected MEAN or SUM", reduction);
  const auto& shape = c.attr<PartialShape>("shape");
  if (c.attr<bool>("sparse") && shape.has_rank() && shape.rank() == 0)
    return error(Code::kInvalidArgument,
                 "a scalar has no rows: the shape of a sparse accumulator has "
                 "at least one extent");
  return {};
}

void register_accumulator_ops(OpRegistry& ops) {
  add_op(ops, {"AccumulatorApplyGradient",
               "Adds a gradient to an accumulator, unless its step is over.",
               {kLocalStep, {"gradient", TypeSet::kFloat, false, 0}},
               {},
               infer_apply,
               cost::changed<1, 1>});
  add_op(ops, {"AccumulatorTakeGradient",
               "The average of an accumulator's gradients once there are "
               "enough; the accumulator is empty then, and one step further.",
               {kNumRequired},
               {"average"},
               infer_take,
               cost::per_output<1>});
  add_op(ops, {"SparseAccumulatorApplyGradient",
               "Adds rows to a sparse accumulator, unless their step is over. "
               "Rows of one index add up. An empty shape says nothing.",
               {kLocalStep,
                {"values", TypeSet::kFloat, false, 0},
                {"indices", TypeSet::kIndex, false, 0},
                {"shape", TypeSet::kIndex, false, 0}},
               {},
               infer_sparse_apply,
               cost::changed<1, 1>,
               true});
  add_op(ops, {"SparseAccumulatorTakeGradient",
               "Of each row the average of the gradients that have it, once "
               "there are enough gradients; the accumulator is empty then, and "
               "one step further.",
               {kNumRequired},
               {"values", "indices", "shape"},
               infer_take,
               cost::per_output<1>,
               true});
  add_op(ops, {"AccumulatorSetGlobalStep",
               "Which step an accumulator is at. It never goes back.",
               {{"step", TypeSet::kIndex, false, 0}},
               {},
               infer_set_step,
               cost::none});
  add_op(ops, {"AccumulatorResumeAt",
               "Puts an accumulator to a step, be it an earlier one. What it "
               "has stays.",
               {{"step", TypeSet::kIndex, false, 0}},
               {},
               infer_set_step,
               cost::none});
  add_op(ops, {"AccumulatorNumAccumulated",
               "The number of gradients in an accumulator.",
               {},
               {"count"},
               infer_count,
               cost::none});
}

AccumulatorBase::AccumulatorBase(Graph& graph,
                                 const AccumulatorOptions& options, bool sparse,
                                 std::string_view default_name)
    : graph_(&graph), device_(graph.device_scope()), dtype_(options.dtype) {
  const std::string own = graph.unique_name(
      options.name.empty() ? default_name : std::string_view(options.name));
  name_ = options.shared_name.empty() ? own : options.shared_name;
  attrs_ = {{"accumulator", name_},
            {"dtype", options.dtype},
            {"shape", options.shape},
            {"reduction_type", options.reduction_type},
            {"sparse", sparse}};
  InferContext context({}, attrs_);
  check_accumulator(context)
      .with_context("the accumulator \"" + name_ + "\"")
      .value();
}

Node& AccumulatorBase::add(std::string_view op,
                           std::vector<Value> inputs) const {
  const size_t verb = op.find("Accumulator") + sizeof("Accumulator") - 1;
  Node& node = graph_->add(
      {.op = op,
       .inputs = std::move(inputs),
       .attrs = attrs_,
       .name = fmt::format("{}_{}", last_part(name_), op.substr(verb))});
  node.set_device(device_);
  return node;
}

Node& AccumulatorBase::set_global_step(Value step) const {
  return add("AccumulatorSetGlobalStep", {step});
}
Node& AccumulatorBase::resume_at(Value step) const {
  return add("AccumulatorResumeAt", {step});
}
Value AccumulatorBase::num_accumulated() const {
  return add("AccumulatorNumAccumulated", {}).output();
}

ConditionalAccumulator::ConditionalAccumulator(
    Graph& graph, const AccumulatorOptions& options)
    : AccumulatorBase(graph, options, false, "conditional_accumulator") {}

Node& ConditionalAccumulator::apply_grad(Value gradient,
                                         Value local_step) const {
  return add("AccumulatorApplyGradient", {local_step, gradient});
}
Value ConditionalAccumulator::take_grad(Value num_required) const {
  return add("AccumulatorTakeGradient", {num_required}).output();
}

SparseConditionalAccumulator::SparseConditionalAccumulator(
    Graph& graph, const AccumulatorOptions& options)
    : AccumulatorBase(graph, options, true, "sparse_conditional_accumulator") {}

Node& SparseConditionalAccumulator::apply_grad(const Gradient& gradient,
                                               Value local_step) const {
  if (!gradient.sparse())
    throw Error(Code::kInvalidArgument,
                fmt::format("the accumulator \"{}\" takes sparse gradients: "
                            "rows with their indices",
                            name()));
  const Value shape =
      gradient.shape ? gradient.shape : constant_ints(graph(), {});
  return add("SparseAccumulatorApplyGradient",
             {local_step, gradient.values, gradient.indices, shape});
}
Gradient SparseConditionalAccumulator::take_grad(Value num_required) const {
  Node& node = add("SparseAccumulatorTakeGradient", {num_required});
  return {node.output(0), node.output(1), node.output(2)};
}

}  // namespace rondo
