#include "rondo/graph/optimizers.h"

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/ops/update.h"

namespace rondo {

Value Rate::in(Graph& graph, DType dtype) const {
  if (value_) return value_;
  // In 16 bits, 0.999 would be 1.
  return constant(graph, number_,
                  dtype == DType::kF64 ? DType::kF64 : DType::kF32);
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(
    Value loss, std::vector<Value> variables) {
  if (!loss) throw Error(Code::kInvalidArgument, "the loss is no value");
  if (variables.empty()) variables = loss.graph().collection(kTrainable);
  if (variables.empty())
    throw Error(Code::kInvalidArgument,
                "there are no variables to train: the graph has no trainable "
                "variable, and none were given");
  const std::vector<Gradient> found =
      gradients(std::span<const Value>(&loss, 1), variables);
  std::vector<GradientAndVariable> pairs;
  for (size_t i = 0; i < variables.size(); ++i)
    pairs.push_back({found[i], variables[i]});
  return pairs;
}

Node& Optimizer::apply_gradients(
    const std::vector<GradientAndVariable>& gradients, Value global_step,
    const std::string& name) {
  return apply_instead(gradients, global_step, name,
                       [](Node& update) -> Node& { return update; });
}

Node& Optimizer::apply_instead(
    const std::vector<GradientAndVariable>& gradients, Value global_step,
    const std::string& name, const Instead& instead) {
  Graph* graph = nullptr;
  for (const GradientAndVariable& pair : gradients)
    if (pair.gradient) graph = &pair.variable.graph();
  if (!graph)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("{}: no variable has a gradient: the loss depends on none",
                    name_));
  prepare(*graph);
  std::vector<Node*> updates;
  for (const auto& [gradient, variable] : gradients)
    if (gradient) updates.push_back(&instead(*update(variable, gradient).node));
  std::vector<Node*> all = updates;
  {
    const ControlScope after(*graph, updates);
    for (Node* node : finish(*graph)) all.push_back(node);
    if (global_step)
      all.push_back(
          assign_add(global_step, constant(*graph, 1, global_step.dtype()))
              .node);
  }
  return group(*graph, all, name.empty() ? name_ : name);
}

Node& Optimizer::minimize(Value loss, const MinimizeOptions& options) {
  return apply_gradients(compute_gradients(loss, options.variables),
                         options.global_step, options.name);
}

Value Optimizer::slot(Value variable, std::string_view what) const {
  const auto at =
      slots_.find(fmt::format("{}/{}", variable_name(variable), what));
  return at == slots_.end() ? Value() : at->second;
}

Value Optimizer::get_slot(Value of, std::string_view what, double initial) {
  Value& slot = slots_[fmt::format("{}/{}", variable_name(of), what)];
  if (slot) return slot;
  Graph& graph = of.graph();
  const ControlScope none(graph, {}, true);
  const NameScope outside(graph, "/");
  const DeviceScope beside(graph, of.node->device());
  const Value value =
      of.shape().known()
          ? fill(graph, of.shape().to_shape(), initial, of.dtype())
          : fill(shape_of(initialized_value(of)),
                 constant(graph, initial, of.dtype()));
  slot =
      variable(graph, value,
               {.name = fmt::format("{}/{}/{}", variable_name(of), name_, what),
                .trainable = false,
                .container = container_of(of)});
  return slot;
}

Value Optimizer::get_own(Graph& graph, std::string_view what, double initial) {
  Value& slot = slots_[std::string(what)];
  if (slot) return slot;
  const ControlScope none(graph, {}, true);
  const NameScope outside(graph, "/");
  slot =
      variable(graph, constant(graph, initial, DType::kF32),
               {.name = fmt::format("{}/{}", name_, what), .trainable = false});
  return slot;
}

Value GradientDescent::update(Value variable, const Gradient& gradient) {
  Graph& graph = variable.graph();
  return apply_gradient_descent(
      variable, gradient, options_.learning_rate.in(graph, variable.dtype()));
}

Value Momentum::update(Value variable, const Gradient& gradient) {
  Graph& graph = variable.graph();
  const DType dtype = variable.dtype();
  return apply_momentum(
      variable, get_slot(variable, "velocity"), gradient,
      {.learning_rate = options_.learning_rate.in(graph, dtype),
       .momentum = options_.momentum.in(graph, dtype)},
      options_.nesterov);
}

Value Adagrad::update(Value variable, const Gradient& gradient) {
  Graph& graph = variable.graph();
  const DType dtype = variable.dtype();
  return apply_adagrad(
      variable, get_slot(variable, "accumulator", options_.initial_accumulator),
      gradient,
      {.learning_rate = options_.learning_rate.in(graph, dtype),
       .epsilon = options_.epsilon.in(graph, dtype)});
}

Value RmsProp::update(Value variable, const Gradient& gradient) {
  Graph& graph = variable.graph();
  const DType dtype = variable.dtype();
  return apply_rms_prop(
      variable, get_slot(variable, "square", 1), get_slot(variable, "velocity"),
      gradient,
      {.learning_rate = options_.learning_rate.in(graph, dtype),
       .rho = options_.rho.in(graph, dtype),
       .momentum = options_.momentum.in(graph, dtype),
       .epsilon = options_.epsilon.in(graph, dtype)},
      options_.centered ? get_slot(variable, "mean") : Value());
}

void Adam::prepare(Graph& graph) {
  beta1_power_ = get_own(graph, "beta1_power", options_.beta1);
  beta2_power_ = get_own(graph, "beta2_power", options_.beta2);
}

Value Adam::update_with(Value variable, const Gradient& gradient,
                        Value weight_decay) {
  Graph& graph = variable.graph();
  const DType dtype = variable.dtype();
  const Value m = get_slot(variable, "m");
  const Value v = get_slot(variable, "v");
  const AdamRates rates = {
      .learning_rate = options_.learning_rate.in(graph, dtype),
      .beta1 = Rate(options_.beta1).in(graph, dtype),
      .beta2 = Rate(options_.beta2).in(graph, dtype),
      .epsilon = options_.epsilon.in(graph, dtype),
      .beta1_power = beta1_power_,
      .beta2_power = beta2_power_};
  return weight_decay
             ? apply_adam_w(variable, m, v, gradient, rates, weight_decay)
             : apply_adam(variable, m, v, gradient, rates);
}

Value Adam::update(Value variable, const Gradient& gradient) {
  return update_with(variable, gradient, {});
}

std::vector<Node*> Adam::finish(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& [power, beta] : {std::pair(beta1_power_, options_.beta1),
                                    std::pair(beta2_power_, options_.beta2)})
    nodes.push_back(
        assign(power, make("Mul", {power, constant(graph, beta, DType::kF32)}))
            .node);
  return nodes;
}

Value AdamW::update(Value variable, const Gradient& gradient) {
  return update_with(variable, gradient,
                     weight_decay_.in(variable.graph(), variable.dtype()));
}

}  // namespace rondo
