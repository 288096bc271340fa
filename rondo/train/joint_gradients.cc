#include "rondo/train/joint_gradients.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/exchange.h"
#include "rondo/graph/ops/state.h"
#include "rondo/train/exchanged_gradients.h"

namespace rondo {
namespace {

// How many ranks have data; this one says `mine`.
Value exchanged_count(Graph& graph, double mine,
                      const ExchangeOptions& options) {
  const Value one = identity(constant(graph, mine, DType::kF32));
  return all_reduce({one}, options, false, DType::kF32)[0];
}

Value share_of(Value active) {
  return constant(active.graph(), 1.0, DType::kF32) / active;
}

// Nothing, in the form of a gradient, where `taken`.
Gradient nothing_like(const GradientAndVariable& pair, Value taken) {
  const auto& [gradient, variable] = pair;
  Graph& graph = variable.graph();
  if (!variable.shape().known())
    throw Error(Code::kInvalidArgument,
                fmt::format("the shape of variable \"{}\" is not known, so a "
                            "rank without data cannot join in",
                            variable_name(variable)));
  const auto where_taken = [&](const Shape& shape, DType dtype) {
    Node& branch = graph.add(
        {.op = "Switch", .inputs = {zeros(graph, shape, dtype), taken}});
    return branch.output(1);
  };
  const Shape shape = variable.shape().to_shape();
  if (!gradient.sparse()) return where_taken(shape, gradient.values.dtype());
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[0] = 0;
  return {where_taken(Shape(extents), gradient.values.dtype()),
          where_taken({0}, gradient.indices.dtype()), gradient.shape};
}

}  // namespace

JointGradients joint_gradients(
    const std::vector<GradientAndVariable>& gradients,
    const GradientExchange& exchange, const ExchangePlan& plan) {
  if (plan.items.empty()) return {gradients, gradients, {}};
  Graph& graph = gradients[0].variable.graph();
  ExchangeOptions count{.group = exchange.group,
                        .sequence = next_sequence(graph, exchange.group)};
  JointGradients joint;
  ExchangeTerms terms{.sequence = count.sequence + 1};
  {
    // The end of the data comes before the first exchange.
    const size_t first = plan.items[0].bucket[0];
    const ControlScope after(graph, {gradients[first].gradient.values.node});
    count.name = fmt::format("{}/training", exchange.group);
    terms.share = share_of(exchanged_count(graph, 1, count));
  }
  joint.training = exchanged_gradients(gradients, exchange, plan, terms);
  count.name = fmt::format("{}/joining", exchange.group);
  joint.active = exchanged_count(graph, 0, count);
  const Value taken = greater(joint.active, constant(graph, 0.0, DType::kF32));
  joint.joining = gradients;
  for (auto& pair : joint.joining)
    if (pair.gradient) pair.gradient = nothing_like(pair, taken);
  terms.share = share_of(joint.active);
  terms.optional = true;
  joint.joining =
      exchanged_gradients(std::move(joint.joining), exchange, plan, terms);
  return joint;
}

}  // namespace rondo
