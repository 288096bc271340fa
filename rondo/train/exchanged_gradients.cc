#include "rondo/train/exchanged_gradients.h"

#include <algorithm>
#include <array>
#include <map>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/exchange.h"

namespace rondo {
namespace {

constexpr std::array<std::string_view, 5> kExchanges = {
    "AllReduce", "AllGather", "AllGatherRows", "Broadcast", "SetParameters"};

// Of the group's ranks.
Value share_of(Value sum, int size) {
  return make("Mul", {sum, constant(sum.graph(), 1.0 / size, sum.dtype())});
}

Gradient exchanged_rows(const Gradient& gradient, int size,
                        const ExchangeOptions& options) {
  const Rows all =
      all_gather_rows({gradient.values, gradient.indices}, options);
  return {share_of(all.values, size), all.indices, gradient.shape};
}

void exchange_bucket(std::vector<GradientAndVariable>& gradients,
                     const std::vector<size_t>& bucket,
                     const GradientExchange& exchange,
                     const ExchangeOptions& options) {
  std::vector<Value> values;
  for (const size_t i : bucket) values.push_back(gradients[i].gradient.values);
  const DType wire = wire_of(values[0].dtype(), exchange);
  const std::vector<Value> means = all_reduce(values, options, true, wire);
  for (size_t k = 0; k < bucket.size(); ++k)
    gradients[bucket[k]].gradient = means[k];
}

// Factors of all ranks, by the node id and output of this rank's.
using Gathered = std::map<std::pair<int, int>, Value>;

Value& all_of(const Value& factor, Gathered& gathered) {
  return gathered[{factor.node->id(), factor.index}];
}

Value mean_of(Factors factors, Gathered& gathered, int size) {
  factors.left = all_of(factors.left, gathered);
  // There is less of it than of the product.
  factors.right = share_of(all_of(factors.right, gathered), size);
  return product_of(factors);
}

}  // namespace

int64_t next_sequence(const Graph& graph, const std::string& group) {
  int64_t next = 0;
  for (const auto& node : graph.nodes())
    if (std::ranges::count(kExchanges, node->op().name) > 0 &&
        node->attrs().get<std::string>("group") == group)
      next = std::max(next, node->attrs().get<int64_t>("sequence") + 1);
  return next;
}

std::vector<GradientAndVariable> exchanged_gradients(
    std::vector<GradientAndVariable> gradients,
    const GradientExchange& exchange, const ExchangePlan& plan) {
  if (plan.items.empty()) return gradients;
  Graph& graph = gradients[0].variable.graph();
  const NameScope scope(graph, exchange.group);
  ExchangeOptions options{.group = exchange.group,
                          .sequence = next_sequence(graph, exchange.group),
                          .optional = exchange.optional};
  const auto named = [&](std::string_view what) -> const ExchangeOptions& {
    options.name = fmt::format("{}_{}", what, options.sequence);
    return options;
  };
  Gathered gathered;
  for (const auto& [bucket, factor] : plan.items) {
    if (factor)
      all_of(factor, gathered) = all_gather(factor, named("factor"),
                                            wire_of(factor.dtype(), exchange));
    else if (Gradient& first = gradients[bucket[0]].gradient; first.sparse())
      first = exchanged_rows(first, exchange.size, named("rows"));
    else
      exchange_bucket(gradients, bucket, exchange, named("bucket"));
    ++options.sequence;
  }
  for (size_t i = 0; i < gradients.size(); ++i)
    if (plan.factors[i])
      gradients[i].gradient =
          mean_of(*plan.factors[i], gathered, exchange.size);
  return gradients;
}

}  // namespace rondo
