#include "rondo/graph/ops/gradient_by_parts.h"

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"

namespace rondo {

std::vector<Gradient> gradient_by_parts(
    Node& node, std::span<const Value> grads,
    const std::function<std::vector<Value>(const std::vector<Value>&)>& parts) {
  // The inputs as they are, whatever they depend on: one may follow from
  // another.
  std::vector<Value> xs;
  for (const Value& input : node.inputs()) xs.push_back(stop_gradient(input));
  const std::vector<Value> outputs = parts(xs);
  std::vector<Value> ys, grad_ys;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i] || !outputs[i]) continue;
    ys.push_back(outputs[i]);
    grad_ys.push_back(grads[i]);
  }
  return gradients(ys, xs, grad_ys);
}

Gradient add_gradients(const Gradient& a, const Gradient& b) {
  if (!a) return b;
  if (!b) return a;
  return make("Add", {to_dense(a), to_dense(b)});
}

}  // namespace rondo
