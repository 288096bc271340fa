// Recommendation: which of the predicted methods to take, and why.
#pragma once

#include <span>
#include <string>

#include "rondo/plan/prediction.h"

namespace rondo {

struct Recommendation {
  size_t index = 0;
  std::string reason;
};

// The one with the shortest step that needs no spare machine and loses no
// precision. Of several within 1 % the one in memory is taken, then the ring,
// then the one that comes first. The reason also says what spare machines or
// less precision would gain, where that is more than 5 %. A method of which
// only a lower bound is known is left out.
Recommendation recommend(std::span<const MethodPrediction> methods,
                         const Network& network, const Workload& workload);

}  // namespace rondo
