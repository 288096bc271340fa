// The names of strategies, as --strategy and RONDO_STRATEGY have them.
#pragma once

#include <string>
#include <string_view>

#include "rondo/base/env.h"
#include "rondo/base/status.h"
#include "rondo/ps/kv_rules.h"

namespace rondo {

enum class StrategyKind { kSingle, kRing, kHybrid, kPs, kPsAsync, kSsp };

// Whether it can do nothing without servers, which keep the parameters.
inline bool needs_servers(StrategyKind kind) {
  return kind == StrategyKind::kPs || kind == StrategyKind::kPsAsync ||
         kind == StrategyKind::kSsp;
}
// Whether servers are of use to it.
inline bool takes_servers(StrategyKind kind) {
  return needs_servers(kind) || kind == StrategyKind::kHybrid;
}

// "single"; "ring" or "allreduce", which are the same; "hybrid"; "ps",
// "ps-async", "ssp". An error lists them.
RONDO_API Result<StrategyKind> parse_strategy(std::string_view name);

// Whether so many backup workers go with this strategy of so many ranks (0: not
// known yet). `said` is how they were asked for, for the error: "--backup 1".
RONDO_API Status check_backup(std::string_view said, int64_t backup,
                              StrategyKind kind, int ranks);
// How many RONDO_BACKUP asks for, whatever the strategy; an error where they do
// not go with it.
RONDO_API Result<int> backup_of(const Env& env, StrategyKind kind, int ranks);

// That with parameter servers of this mode.
std::string strategy_name(KvMode mode);

}  // namespace rondo
