// The optimizers of `rondo train`, by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rondo/graph/optimizers.h"

namespace rondo {

struct OptimizerName {
  std::string_view name;
  double rate;  // where the user gives none
  std::unique_ptr<Optimizer> (*make)(const Rate& rate);
};

// nullptr where there is none of this name.
const OptimizerName* find_optimizer(std::string_view name);
// "sgd, momentum, adam".
std::string optimizer_names();

}  // namespace rondo
