#include "rondo/train/exchanged_gradients.h"

#include <algorithm>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/exchange.h"

namespace rondo {
namespace {

Gradient exchanged_rows(const Gradient& gradient, int size,
                        const ExchangeOptions& options) {
  const Rows all =
      all_gather_rows({gradient.values, gradient.indices}, options);
  Graph& graph = all.values.graph();
  const Value share = constant(graph, 1.0 / size, all.values.dtype());
  return {make("Mul", {all.values, share}), all.indices, gradient.shape};
}

void exchange_bucket(std::vector<GradientAndVariable>& gradients,
                     const std::vector<size_t>& bucket,
                     const GradientExchange& exchange,
                     const ExchangeOptions& options) {
  std::vector<Value> values;
  for (const size_t i : bucket) values.push_back(gradients[i].gradient.values);
  const DType dtype = values[0].dtype();
  const DType wire = dtype == DType::kF32 ? exchange.wire : dtype;
  const std::vector<Value> means = all_reduce(values, options, true, wire);
  for (size_t k = 0; k < bucket.size(); ++k)
    gradients[bucket[k]].gradient = means[k];
}

}  // namespace

int64_t next_sequence(const Graph& graph, const std::string& group) {
  int64_t next = 0;
  for (const auto& node : graph.nodes()) {
    const std::string_view op = node->op().name;
    if ((op == "AllReduce" || op == "AllGatherRows" || op == "Broadcast" ||
         op == "SetParameters") &&
        node->attrs().get<std::string>("group") == group)
      next = std::max(next, node->attrs().get<int64_t>("sequence") + 1);
  }
  return next;
}

std::vector<GradientAndVariable> exchanged_gradients(
    std::vector<GradientAndVariable> gradients,
    const GradientExchange& exchange) {
  const auto buckets = plan_buckets(gradients, exchange.buckets);
  if (buckets.empty()) return gradients;
  Graph& graph = gradients[buckets[0][0]].gradient.values.graph();
  const NameScope scope(graph, exchange.group);
  ExchangeOptions options{.group = exchange.group,
                          .sequence = next_sequence(graph, exchange.group)};
  for (const std::vector<size_t>& bucket : buckets) {
    Gradient& first = gradients[bucket[0]].gradient;
    options.name = fmt::format("{}_{}", first.sparse() ? "rows" : "bucket",
                               options.sequence);
    if (first.sparse())
      first = exchanged_rows(first, exchange.size, options);
    else
      exchange_bucket(gradients, bucket, exchange, options);
    ++options.sequence;
  }
  return gradients;
}

}  // namespace rondo
