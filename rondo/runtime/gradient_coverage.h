// check_and_record: check_gradient for tests, which must check every gradient.
#pragma once

#include <vector>

#include "rondo/runtime/gradient_check.h"

namespace rondo {

// check_gradient, and notes which operations it was about. When all tests of
// the executable have run in one process, an operation that has a gradient and
// was never checked fails the run.
GradientCheck check_and_record(Value y, const std::vector<Feed>& at,
                               Node* initializer = nullptr);

}  // namespace rondo
