// check_gradient: an operation's gradient against finite differences.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/runtime/session.h"

namespace rondo {

struct GradientCheck {
  // The largest |analytic - numeric| / max(1, |analytic|, |numeric|).
  double worst = 0;
  std::string where;  // "x[3]: analytic 1, numeric 2"
  // Those between `at` and y that have a gradient, so what was checked.
  std::set<std::string_view> operations;
};

// Of sum(w * y) for random weights w, by each element of each of `at` that has
// type f64, by central differences. y must have type f64. Runs in a session of
// its own after `initializer`, where there is one.
RONDO_API GradientCheck check_gradient(Value y, const std::vector<Feed>& at,
                                       Node* initializer = nullptr);

}  // namespace rondo
