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

// Makes the exchanges of a plan, one after the other.
class Rewrite {
 public:
  Rewrite(std::vector<GradientAndVariable>& gradients,
          const GradientExchange& exchange, const ExchangeTerms& terms)
      : gradients_(gradients), exchange_(exchange), terms_(terms) {}

  void gather(const Value& factor, Node* begin,
              const ExchangeOptions& options) {
    // What comes later is of the backward pass itself.
    std::vector<Node*> before;
    if (factor.node->id() < begin->id()) before.push_back(begin);
    const ControlScope after(factor.graph(), before);
    all_of(factor) =
        all_gather(factor, options, wire_of(factor.dtype(), exchange_));
  }

  void gather_rows(Gradient& gradient, const ExchangeOptions& options) {
    const Rows all =
        all_gather_rows({gradient.values, gradient.indices}, options);
    gradient = {share_of(all.values), all.indices, gradient.shape};
  }

  void reduce(const std::vector<size_t>& bucket, ExchangeOptions options) {
    if (exchange_.buckets.tune) options.unit_bytes = bytes_in(bucket);
    std::vector<Value> values;
    for (const size_t i : bucket)
      values.push_back(gradients_[i].gradient.values);
    const DType wire = wire_of(values[0].dtype(), exchange_);
    const bool average = !terms_.share;
    values = all_reduce(values, options, average, wire);
    for (size_t k = 0; k < bucket.size(); ++k)
      gradients_[bucket[k]].gradient =
          average ? values[k] : share_of(values[k]);
  }

  // Of factors that were gathered.
  Value mean_of(Factors factors) {
    factors.left = all_of(factors.left);
    // There is less of it than of the product.
    factors.right = share_of(all_of(factors.right));
    return product_of(factors);
  }

 private:
  // 0 where they are not known, which the others then do not know either.
  int64_t bytes_in(const std::vector<size_t>& bucket) const {
    double bytes = 0;
    for (const size_t i : bucket) {
      const Value& variable = gradients_[i].variable;
      if (!variable.shape().known()) return 0;
      bytes +=
          bytes_of({gradients_[i].gradient.values.dtype(), variable.shape()});
    }
    return static_cast<int64_t>(bytes);
  }

  Value share_of(Value sum) const {
    const DType dtype = sum.dtype();
    const Value share =
        terms_.share ? cast(terms_.share, dtype)
                     : constant(sum.graph(), 1.0 / exchange_.size, dtype);
    return make("Mul", {sum, share});
  }

  Value& all_of(const Value& factor) {
    return gathered_[{factor.node->id(), factor.index}];
  }

  std::vector<GradientAndVariable>& gradients_;
  const GradientExchange& exchange_;
  const ExchangeTerms& terms_;
  // Factors of all ranks, by the node id and output of this rank's.
  std::map<std::pair<int, int>, Value> gathered_;
};

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
    const GradientExchange& exchange, const ExchangePlan& plan,
    const ExchangeTerms& terms) {
  if (plan.items.empty()) return gradients;
  Graph& graph = gradients[0].variable.graph();
  ExchangeOptions options{
      .group = exchange.group,
      .sequence = terms.sequence.value_or(next_sequence(graph, exchange.group)),
      .optional = terms.optional};
  // The same for a rank that joins in: it has the same buckets.
  options.unit_family = options.sequence;
  const NameScope scope(graph, exchange.group);
  const auto named = [&](std::string_view what) -> const ExchangeOptions& {
    options.name = fmt::format("{}_{}", what, options.sequence);
    return options;
  };
  Rewrite rewrite(gradients, exchange, terms);
  for (const auto& [bucket, factor] : plan.items) {
    if (factor)
      rewrite.gather(factor, plan.begin, named("factor"));
    else if (Gradient& first = gradients[bucket[0]].gradient; first.sparse())
      rewrite.gather_rows(first, named("rows"));
    else
      rewrite.reduce(bucket, named(exchange.buckets.tune ? "unit" : "bucket"));
    ++options.sequence;
  }
  for (size_t i = 0; i < gradients.size(); ++i)
    if (plan.factors[i])
      gradients[i].gradient = rewrite.mean_of(*plan.factors[i]);
  return gradients;
}

}  // namespace rondo
