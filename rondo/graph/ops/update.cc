#include "rondo/graph/ops/update.h"

#include <algorithm>

#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

const std::string& variable_of(const InferContext& c) {
  return c.attr<std::string>("variable");
}

Status check_attrs(InferContext& c, size_t slots, size_t most_slots) {
  if (variable_of(c).empty())
    return error(Code::kInvalidArgument,
                 "the attribute \"variable\" names no variable");
  const auto& names = c.attr<std::vector<std::string>>("slots");
  if (names.size() < slots || names.size() > most_slots)
    return error(Code::kInvalidArgument,
                 "the attribute \"slots\" has {} names, expected {}",
                 names.size(), slots);
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i].empty() || names[i] == variable_of(c) ||
        std::count(names.begin(), names.end(), names[i]) > 1)
      return error(Code::kInvalidArgument,
                   "slot {} is \"{}\": expected a variable of its own", i,
                   names[i]);
  return {};
}

Status check_rates(InferContext& c, int first) {
  for (int i = first; i < c.inputs(); ++i)
    RONDO_RETURN_IF_ERROR(c.want_scalar(i, "a rate"));
  return {};
}

template <size_t kSlots, size_t kMostSlots>
Status infer_dense(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_attrs(c, kSlots, kMostSlots));
  RONDO_RETURN_IF_ERROR(check_rates(c, 1));
  const DType dtype = c.attr<DType>("dtype");
  if (c.dtype(0) != dtype)
    return error(Code::kInvalidArgument,
                 "the variable \"{}\" has type {}, the gradient {}",
                 variable_of(c), name_of(dtype), name_of(c.dtype(0)));
  auto shape = merge(c.attr<PartialShape>("shape"), c.shape(0));
  if (!shape.ok())
    return error(Code::kInvalidArgument,
                 "the variable \"{}\" has shape {}, the gradient {}",
                 variable_of(c), c.attr<PartialShape>("shape").to_string(),
                 c.shape(0).to_string());
  c.output(dtype, *shape);
  return {};
}

template <size_t kSlots, size_t kMostSlots>
Status infer_sparse(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_attrs(c, kSlots, kMostSlots));
  RONDO_RETURN_IF_ERROR(check_rates(c, 2));
  const DType dtype = c.attr<DType>("dtype");
  const PartialShape& shape = c.attr<PartialShape>("shape");
  if (c.dtype(0) != dtype)
    return error(Code::kInvalidArgument,
                 "the variable \"{}\" has type {}, the rows {}", variable_of(c),
                 name_of(dtype), name_of(c.dtype(0)));
  if (shape.has_rank() && shape.rank() == 0)
    return error(Code::kInvalidArgument, "the variable \"{}\" is a scalar",
                 variable_of(c));
  if (shape.has_rank() && c.shape(0).has_rank() && c.shape(1).has_rank()) {
    Ints wanted(c.shape(1).extents().begin(), c.shape(1).extents().end());
    wanted.insert(wanted.end(), shape.extents().begin() + 1,
                  shape.extents().end());
    const PartialShape expected(wanted);
    if (!expected.compatible(c.shape(0)))
      return error(Code::kInvalidArgument,
                   "the rows have shape {}, expected {}",
                   c.shape(0).to_string(), expected.to_string());
  }
  c.output(dtype, shape);
  return {};
}

std::vector<AttrSpec> attrs_of(std::vector<AttrSpec> more) {
  std::vector<AttrSpec> attrs = {
      {"variable", std::string(), true, "the variable's name"},
      {"slots", std::vector<std::string>(), false,
       "the names of the optimizer's variables for it, in the order in which "
       "they are told of"},
      {"dtype", DType::kF32, false, "the variable's element type"},
      {"shape", PartialShape(), false, "its shape"},
      {"container", std::string(), false,
       "where the worker keeps it and the optimizer's variables"}};
  attrs.insert(attrs.end(), more.begin(), more.end());
  return attrs;
}

// The gradient is read, or its rows, and as much of the variable and its slots
// is read and written.
template <int kFlops>
OpCost update_cost(const Node& node) {
  const auto slots = static_cast<double>(
      node.attrs().get<std::vector<std::string>>("slots").size());
  return {kFlops * cost::elements(node.input(0).shape()),
          (1 + 2 * (1 + slots)) * cost::bytes_of_input(node, 0)};
}

// kFlops for each element.
template <int kFlops, size_t kSlots, size_t kMostSlots = kSlots>
void add_update(OpRegistry& ops, std::string_view dense,
                std::string_view sparse, std::string_view dense_doc,
                std::string_view sparse_doc,
                const std::vector<std::string_view>& rates,
                const std::vector<AttrSpec>& attrs = {}) {
  std::vector<InputSpec> inputs = {{"gradient", TypeSet::kFloat, false, 0}};
  std::vector<InputSpec> rows = {{"rows", TypeSet::kFloat, false, 0},
                                 {"indices", TypeSet::kIndex, false, 0}};
  for (const std::string_view rate : rates) {
    inputs.push_back({rate, TypeSet::kFloat, false, 0});
    rows.push_back({rate, TypeSet::kFloat, false, 0});
  }
  ops.add({.name = dense,
           .doc = dense_doc,
           .inputs = inputs,
           .outputs = {"new_value"},
           .attrs = attrs_of(attrs),
           .infer = infer_dense<kSlots, kMostSlots>,
           .cost = update_cost<kFlops>,
           .kind = OpKind::kStateful});
  ops.add({.name = sparse,
           .doc = sparse_doc,
           .inputs = rows,
           .outputs = {"new_value"},
           .attrs = attrs_of(attrs),
           .infer = infer_sparse<kSlots, kMostSlots>,
           .cost = update_cost<kFlops>,
           .kind = OpKind::kStateful});
}

#define RONDO_SPARSE(name)                                                    \
  name " for a gradient of which only `rows` are not zero: row k belongs to " \
       "row indices[k] of the variable. Rows of equal index add up first; "   \
       "rows "                                                                \
       "of the variable and of the slots that have no gradient stay as they " \
       "are."

Value update(std::string_view op, Value var, const std::vector<Value>& slots,
             const Gradient& gradient, std::vector<Value> rates,
             Attrs attrs = {}) {
  std::vector<std::string> names;
  for (const Value& slot : slots) names.push_back(variable_name(slot));
  attrs.set("variable", variable_name(var));
  attrs.set("slots", names);
  attrs.set("dtype", var.dtype());
  attrs.set("shape", var.shape());
  attrs.set("container", container_of(var));
  std::vector<Value> inputs = {gradient.values};
  if (gradient.sparse()) inputs.push_back(gradient.indices);
  inputs.insert(inputs.end(), rates.begin(), rates.end());
  return make(gradient.sparse() ? "Sparse" + std::string(op) : std::string(op),
              std::move(inputs), std::move(attrs));
}

}  // namespace

void register_update_ops(OpRegistry& ops) {
  add_update<2, 0>(ops, "ApplyGradientDescent", "SparseApplyGradientDescent",
                   "variable -= learning_rate * gradient.",
                   RONDO_SPARSE("ApplyGradientDescent"), {"learning_rate"});
  add_update<4, 1>(ops, "ApplyMomentum", "SparseApplyMomentum",
                   "velocity = momentum * velocity + gradient; variable -= "
                   "learning_rate * velocity. The slot is velocity.",
                   RONDO_SPARSE("ApplyMomentum"), {"learning_rate", "momentum"},
                   {{"use_nesterov", false, false,
                     "the variable changes by learning_rate * (gradient + "
                     "momentum * velocity) instead"}});
  add_update<6, 1>(ops, "ApplyAdagrad", "SparseApplyAdagrad",
                   "accumulator += gradient^2; variable -= learning_rate * "
                   "gradient / (sqrt(accumulator) + epsilon). The slot is "
                   "accumulator.",
                   RONDO_SPARSE("ApplyAdagrad"), {"learning_rate", "epsilon"});
  add_update<10, 2, 3>(
      ops, "ApplyRMSProp", "SparseApplyRMSProp",
      "square = rho * square + (1 - rho) * gradient^2; velocity = momentum * "
      "velocity + learning_rate * gradient / sqrt(square + epsilon); variable "
      "-= velocity. The slots are square, velocity and, if it is to be "
      "centered, mean: then mean = rho * mean + (1 - rho) * gradient, and "
      "square - mean^2 takes the place of square under the root.",
      RONDO_SPARSE("ApplyRMSProp"),
      {"learning_rate", "rho", "momentum", "epsilon"});
  add_update<13, 2>(
      ops, "ApplyAdam", "SparseApplyAdam",
      "m = beta1 * m + (1 - beta1) * gradient; v = beta2 * v + (1 - "
      "beta2) * gradient^2; variable -= learning_rate * sqrt(1 - "
      "beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon). "
      "The slots are m and v.",
      RONDO_SPARSE("ApplyAdam"),
      {"learning_rate", "beta1", "beta2", "epsilon", "beta1_power",
       "beta2_power"});
  add_update<14, 2>(ops, "ApplyAdamW", "SparseApplyAdamW",
                    "ApplyAdam with decay of weights: before, variable *= 1 - "
                    "learning_rate * weight_decay. The slots are m and v.",
                    RONDO_SPARSE("ApplyAdamW"),
                    {"learning_rate", "beta1", "beta2", "epsilon",
                     "beta1_power", "beta2_power", "weight_decay"});
}

#undef RONDO_SPARSE

Value apply_gradient_descent(Value var, const Gradient& gradient,
                             Value learning_rate) {
  return update("ApplyGradientDescent", var, {}, gradient, {learning_rate});
}

Value apply_momentum(Value var, Value velocity, const Gradient& gradient,
                     const MomentumRates& rates, bool nesterov) {
  return update("ApplyMomentum", var, {velocity}, gradient,
                {rates.learning_rate, rates.momentum},
                {{"use_nesterov", nesterov}});
}

Value apply_adagrad(Value var, Value accumulator, const Gradient& gradient,
                    const AdagradRates& rates) {
  return update("ApplyAdagrad", var, {accumulator}, gradient,
                {rates.learning_rate, rates.epsilon});
}

Value apply_rms_prop(Value var, Value square, Value velocity,
                     const Gradient& gradient, const RmsPropRates& rates,
                     Value mean) {
  std::vector<Value> slots = {square, velocity};
  if (mean) slots.push_back(mean);
  return update(
      "ApplyRMSProp", var, slots, gradient,
      {rates.learning_rate, rates.rho, rates.momentum, rates.epsilon});
}

Value apply_adam(Value var, Value m, Value v, const Gradient& gradient,
                 const AdamRates& rates) {
  return update("ApplyAdam", var, {m, v}, gradient,
                {rates.learning_rate, rates.beta1, rates.beta2, rates.epsilon,
                 rates.beta1_power, rates.beta2_power});
}

Value apply_adam_w(Value var, Value m, Value v, const Gradient& gradient,
                   const AdamRates& rates, Value weight_decay) {
  return update("ApplyAdamW", var, {m, v}, gradient,
                {rates.learning_rate, rates.beta1, rates.beta2, rates.epsilon,
                 rates.beta1_power, rates.beta2_power, weight_decay});
}

}  // namespace rondo
