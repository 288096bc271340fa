// accumulated_gradients: the gradients of several micro-batches as those of one
// batch.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/optimizers.h"

namespace rondo {

// The means over `runs` runs of the step, there in the last of them. What needs
// them, exchanges and updates, does not run in the others. Of two gradients,
// that which is ready earlier has the older node still.
RONDO_API std::vector<GradientAndVariable> accumulated_gradients(
    std::vector<GradientAndVariable> gradients, int64_t runs,
    const std::string& scope);

}  // namespace rondo
