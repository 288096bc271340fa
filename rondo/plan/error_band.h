// ErrorBand: by how much of what is predicted a measurement may differ.
#pragma once

#include <optional>

#include "rondo/plan/method.h"

namespace rondo {

// Shares of the predicted time, either way.
struct ErrorBand {
  double communication = 0;
  double step = 0;
};

// None where the method was not measured, or in a few cells only: with bf16,
// with servers beside workers, on one host, and naive, tree and direct at all.
std::optional<ErrorBand> error_band(const Method& method,
                                    const Network& network);

}  // namespace rondo
