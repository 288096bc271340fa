// The rules of a job's parameter servers, which its ranks make known to them:
// the program says how it trains, and servers are started before it.
#pragma once

#include "rondo/base/clock.h"
#include "rondo/ps/kv_rules.h"
#include "rondo/rendezvous/store.h"

namespace rondo {

// Of rank 0: the rules, and in words by what strategy it trains.
Status publish_rules(Store& store, const KvRules& rules,
                     const std::string& strategy);
// Of the other ranks: waits for these words, and compares. Servers heed rank
// 0's rules alone.
Status check_strategy(Store& store, const std::string& ours, Deadline deadline);
// Of a server: waits for them.
RONDO_API Result<KvRules> wait_for_rules(Store& store, Deadline deadline);

}  // namespace rondo
