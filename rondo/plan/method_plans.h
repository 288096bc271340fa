// The plans of an exchange by a method, for the simulation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rondo/collectives/plan.h"
#include "rondo/plan/method.h"

namespace rondo {

// Of all ranks, spare machines included, for `count` elements that are added
// up over the workers. Parameter servers get as much of them as `by_server`
// says, or equally much; and give back so many times what one worker has
// pushed.
std::vector<Plan> reduction_plans(const Method& method, const Network& network,
                                  int64_t count,
                                  std::span<const double> by_server = {},
                                  double answers = 1);
// For `count` elements of each worker that all workers get.
std::vector<Plan> gather_plans(const Network& network, int64_t count);
// Messages that all ranks together send for one reduction.
double messages_of(const Method& method, const Network& network);

}  // namespace rondo
