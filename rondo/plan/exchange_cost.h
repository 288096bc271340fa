// What one exchange costs by a method, in closed form: for any number of
// workers, without looking at messages one by one.
//
// The busiest link decides, and latencies are added where messages wait for
// each other. For the tree, the hybrid, servers beside workers or in racks, the
// star in racks or on hosts with different numbers of workers, and the
// butterfly of a number of workers that is no power of two this is a lower
// bound: some links wait for others.
#pragma once

#include <span>
#include <vector>

#include "rondo/plan/link_loads.h"
#include "rondo/plan/method_costs.h"
#include "rondo/plan/workload.h"

namespace rondo {

// The network as the messages of a method see it: those of a star are cut into
// small blocks, which come in order.
Network seen_by(const Method& method, const Network& network);

// Whether the closed form is such a bound.
bool is_lower_bound(const Method& method, const Network& network);

// The costs of exchanges by one method. Takes a look at all workers when it is
// made, and at none of them afterwards.
class ExchangeCosts {
 public:
  ExchangeCosts(const Method& method, const Network& network);

  // `bytes` of each worker, added up over all of them.
  ExchangeCost reduction(double bytes) const;
  // Its pieces one after another, in the method's precision.
  ExchangeCost of(const PlannedExchange& exchange) const;
  // Seconds of all of them: of one vector, but for rows and factors, and for
  // servers' keys.
  double at_once(std::span<const PlannedExchange> exchanges) const;

 private:
  // `bytes` that each worker gives to servers, and `back` that it gets, when
  // they have so large a `part` of all workers.
  ExchangeCost served(double bytes, double back, double part) const;
  // Rows or a factor, which go around the ring whatever the method is, but to
  // servers.
  ExchangeCost gather(const PlannedExchange& exchange) const;

  const Method method_;
  const Network network_;  // as its messages see it
  const Network ring_network_;
  const std::vector<MessageLoad> loads_;
};

// Of a single one.
ExchangeCost reduction_cost(const Method& method, const Network& network,
                            double bytes);
// `bytes` of each worker, for all workers.
ExchangeCost gather_cost(const Network& network, double bytes);

}  // namespace rondo
