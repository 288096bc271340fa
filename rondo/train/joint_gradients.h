// joint_gradients: exchanges among ranks whose data may end at different steps.
//
// A rank that has no more data joins in the steps of the others: it makes the
// same exchanges, without gradients of its own, and the same updates. A mean is
// over the ranks that have data, whose number is exchanged first.
#pragma once

#include <vector>

#include "rondo/train/exchange_plan.h"

namespace rondo {

struct JointGradients {
  std::vector<GradientAndVariable> training;  // of a rank with data
  // Of one that joins in; there in a run where somebody has data.
  std::vector<GradientAndVariable> joining;
  Value active;  // how many have data, on a rank that joins in
};

// A run has either of both. The plan must be without factors, since a rank
// without data does not know how many rows the others have.
RONDO_API JointGradients
joint_gradients(const std::vector<GradientAndVariable>& gradients,
                const GradientExchange& exchange, const ExchangePlan& plan);

}  // namespace rondo
