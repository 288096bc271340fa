// The names of strategies, as --strategy and RONDO_STRATEGY have them.
#pragma once

#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

enum class StrategyKind { kSingle, kRing };

// "single"; "ring" or "allreduce", which are the same. An error lists them.
RONDO_API Result<StrategyKind> parse_strategy(std::string_view name);

}  // namespace rondo
