#include "rondo/train/exchange_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

// The factors of a gradient where they are to travel.
std::optional<Factors> chosen_factors(const Gradient& gradient,
                                      const GradientExchange& exchange,
                                      int64_t least_rows) {
  const FactorOptions& options = exchange.factors;
  if (options.use == FactorUse::kOff || !gradient || gradient.sparse())
    return std::nullopt;
  auto factors = factors_of(gradient.values);
  if (!factors || options.use == FactorUse::kOn) return factors;
  const ElementSizes wire{
      .gradient = size_of(wire_of(gradient.values.dtype(), exchange)),
      .factor = size_of(wire_of(factors->left.dtype(), exchange))};
  if (!factors_pay(*factors, wire, exchange.size, options,
                   exchange.server_share, least_rows))
    return std::nullopt;
  return factors;
}

class Planner {
 public:
  Planner(const std::vector<GradientAndVariable>& gradients,
          const GradientExchange& exchange)
      : gradients_(gradients),
        exchange_(exchange),
        travel_of_(gradients.size()) {}

  ExchangePlan plan() {
    std::vector<GradientAndVariable> others = gradients_;
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const int64_t least_rows =
          exchange_.least_rows.empty() ? 0 : exchange_.least_rows[i];
      plan_.factors.push_back(
          chosen_factors(gradients_[i].gradient, exchange_, least_rows));
      if (gradients_[i].gradient) {
        tell(i);
        begin_by(last_of(i));
      }
      if (plan_.factors[i]) others[i].gradient = {};
    }
    for (auto& bucket :
         plan_buckets(others, exchange_.buckets, exchange_.size)) {
      int ready = 0;
      for (const size_t i : bucket)
        ready = std::max(ready, gradients_[i].gradient.values.node->id());
      divide(bucket);
      items_.push_back({ready, {std::move(bucket), {}}});
    }
    std::ranges::stable_sort(items_, {}, &Timed::ready);
    for (Timed& timed : items_) plan_.items.push_back(std::move(timed.item));
    return std::move(plan_);
  }

 private:
  struct Timed {
    int ready;  // the youngest node that it waits for
    ExchangePlan::Item item;
  };

  // What gradient `i` waits for; not the product of factors that travel, which
  // then nobody needs.
  Node* last_of(size_t i) const {
    if (!plan_.factors[i]) return gradients_[i].gradient.values.node;
    const auto& [left, right, way] = *plan_.factors[i];
    return left.node->id() > right.node->id() ? left.node : right.node;
  }
  void begin_by(Node* node) {
    if (!plan_.begin || node->id() < plan_.begin->id()) plan_.begin = node;
  }

  double bytes_on_wire(DType dtype, const PartialShape& shape) const {
    return bytes_of({wire_of(dtype, exchange_), shape});
  }

  // How gradient `i` travels.
  void tell(size_t i) {
    const auto& [gradient, variable] = gradients_[i];
    const Value& values = gradient.values;
    const double others = exchange_.size - 1;
    Travel travel{.variable = variable_name(variable)};
    if (gradient.sparse()) {
      travel.how = "rows";
      travel.per_row = !values.shape().known();
      for (const Value& part : {values, gradient.indices})
        travel.bytes += others * bytes_of({part.dtype(), part.shape()});
    } else if (plan_.factors[i]) {
      travel.how = "factors";
      add_factors(*plan_.factors[i], travel);
    } else {
      travel.how = "bucket";
      // Until its bucket is known.
      travel.bytes = bytes_on_wire(values.dtype(), variable.shape());
    }
    travel_of_[i] = plan_.travels.size();
    plan_.travels.push_back(std::move(travel));
  }

  // What a rank sends of the gradients of a bucket, and to whom.
  void divide(const std::vector<size_t>& bucket) {
    double all = 0;
    for (const size_t i : bucket) all += plan_.travels[travel_of_[i]].bytes;
    // Units of a bucket that is tuned are fused, mostly to the usual size.
    if (exchange_.buckets.tune)
      all = std::max(all, bucket_bytes(exchange_.buckets, exchange_.size));
    const double share = exchange_.server_share.of(all);
    for (const size_t i : bucket) {
      Travel& travel = plan_.travels[travel_of_[i]];
      if (travel.how != "bucket") continue;
      travel.to_servers = travel.bytes * share;
      travel.bytes *= sent_share(exchange_.size, share);
    }
  }

  // Their items, and what each that is new makes a rank send.
  void add_factors(const Factors& factors, Travel& travel) {
    const int64_t rows = rows_of(factors, exchange_.factors);
    travel.per_row = rows == kAny;
    for (const Value& factor : {factors.left, factors.right}) {
      if (!seen_.emplace(factor.node->id(), factor.index).second) continue;
      items_.push_back({factor.node->id(), {{}, factor}});
      const PartialShape shape{rows, factor.shape()[1]};
      travel.bytes +=
          (exchange_.size - 1) * bytes_on_wire(factor.dtype(), shape);
    }
  }

  const std::vector<GradientAndVariable>& gradients_;
  const GradientExchange& exchange_;
  ExchangePlan plan_;
  std::vector<size_t> travel_of_;  // by gradient, of those that travel
  std::vector<Timed> items_;
  std::set<std::pair<int, int>> seen_;  // factors, by node id and output
};

}  // namespace

DType wire_of(DType dtype, const GradientExchange& exchange) {
  return dtype == DType::kF32 ? exchange.wire : dtype;
}

ExchangePlan plan_exchange(const std::vector<GradientAndVariable>& gradients,
                           const GradientExchange& exchange) {
  return Planner(gradients, exchange).plan();
}

std::string to_text(const std::vector<Travel>& travels) {
  std::string text;
  for (const Travel& travel : travels) {
    text += fmt::format("{}: {}, {:.0f} bytes{}", travel.variable, travel.how,
                        travel.bytes, travel.per_row ? " a row" : "");
    if (travel.to_servers > 0)
      text += fmt::format(", {:.0f} of them to servers", travel.to_servers);
    text += '\n';
  }
  return text;
}

}  // namespace rondo
