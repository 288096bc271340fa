// The names of strategies, as --strategy and RONDO_STRATEGY have them.
#pragma once

#include <string>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/ps/kv_rules.h"

namespace rondo {

enum class StrategyKind { kSingle, kRing, kPs, kPsAsync, kSsp };

// Whether it has parameter servers.
inline bool has_servers(StrategyKind kind) {
  return kind != StrategyKind::kSingle && kind != StrategyKind::kRing;
}

// "single"; "ring" or "allreduce", which are the same; "ps", "ps-async", "ssp".
// An error lists them.
RONDO_API Result<StrategyKind> parse_strategy(std::string_view name);

// That with parameter servers of this mode.
std::string strategy_name(KvMode mode);

}  // namespace rondo
