// Gradients before and not behind a MaxPool's, where they are smaller.
//
// Of each window MaxPoolGrad puts its gradient to the place of the largest
// element and leaves zeros elsewhere. So where y is that element,
//
//   ReluGrad(MaxPoolGrad(g), x)  =  MaxPoolGrad(ReluGrad(g, y))
//   BiasAddGrad(MaxPoolGrad(g))  =  BiasAddGrad(g)
//
// and the right sides read and write a quarter as much for windows of 2 x 2.
#include "rondo/graph/passes/passes.h"
#include "rondo/graph/passes/redirect.h"
#include "rondo/graph/passes/uses.h"

namespace rondo {
namespace {

constexpr int kWhere = 1, kGrad = 2;  // inputs of MaxPoolGrad

const Node* is_a(const Node* node, std::string_view op) {
  return node->op().name == op && node->control_inputs().empty() ? node
                                                                 : nullptr;
}

// The MaxPool whose gradient this is.
Node* pool_of(const Node& pool_grad) {
  const Value& where = pool_grad.input(kWhere);
  return where.node->op().name == "MaxPool" && where.index == 1 ? where.node
                                                                : nullptr;
}

// MaxPoolGrad of the gradient of `relu_grad`; empty: it is something else.
Value swapped(const Node& relu_grad, const Uses& uses) {
  const Node* pool_grad = is_a(relu_grad.input(0).node, "MaxPoolGrad");
  if (!pool_grad || uses.only_taker(*pool_grad) != &relu_grad) return {};
  Node* pool = pool_of(*pool_grad);
  if (!pool || pool->input(0) != relu_grad.input(1)) return {};
  const Value small =
      make("ReluGrad", {pool_grad->input(kGrad), pool->output(0)});
  return make("MaxPoolGrad",
              {pool_grad->input(0), pool_grad->input(kWhere), small},
              pool_grad->attrs());
}

}  // namespace

void shrink_pool_gradients(Subgraph& part) {
  const Uses uses(part);
  Redirect redirect;
  const auto put = [&](Node& old, const Value& now, size_t before) {
    redirect.add(old.output(), now);
    for (size_t i = before; i < part.graph->nodes().size(); ++i)
      part.graph->nodes()[i]->set_device(old.device());
  };
  for (Node* node : uses.order()) {
    const size_t before = part.graph->nodes().size();
    if (uses.bound(*node)) continue;
    if (node->op().name == "ReluGrad") {
      if (const Value now = swapped(*node, uses)) put(*node, now, before);
    } else if (node->op().name == "BiasAddGrad") {
      const Value grad = redirect(node->input(0));
      if (const Node* pool_grad = is_a(grad.node, "MaxPoolGrad"))
        put(*node,
            make("BiasAddGrad", {pool_grad->input(kGrad)}, node->attrs()),
            before);
    }
  }
  redirect.apply(part);
}

}  // namespace rondo
