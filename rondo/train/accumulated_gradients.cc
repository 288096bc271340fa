#include "rondo/train/accumulated_gradients.h"

#include "rondo/graph/ops/runs.h"
#include "rondo/train/buckets.h"

namespace rondo {

std::vector<GradientAndVariable> accumulated_gradients(
    std::vector<GradientAndVariable> gradients, int64_t runs,
    const std::string& scope) {
  const std::vector<size_t> order = in_order_of_readiness(gradients);
  if (order.empty()) return gradients;
  const NameScope named(gradients[order[0]].variable.graph(), scope);
  for (const size_t i : order) {
    Gradient& gradient = gradients[i].gradient;
    if (gradient.sparse()) {
      const Rows rows = rows_of_runs({gradient.values, gradient.indices}, runs);
      gradient = {rows.values, rows.indices, gradient.shape};
    } else {
      gradient = mean_of_runs(gradient.values, runs);
    }
  }
  return gradients;
}

}  // namespace rondo
