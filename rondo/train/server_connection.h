// How a rank comes to the servers of its job.
#pragma once

#include <memory>
#include <string>

#include "rondo/base/env.h"
#include "rondo/collectives/communicator.h"
#include "rondo/ps/kv_worker.h"
#include "rondo/train/server_rules.h"

namespace rondo {

// How many servers `rondo run --servers` started.
Result<int> servers_of_job(const Env& env);

// In which parts tensors go to servers, and how much at once: as
// KvWorkerOptions has it.
struct ServerTraffic {
  size_t most_part_bytes = ShardOptions().most_part_bytes;
  size_t most_under_way = KvWorkerOptions().most_under_way;
  bool in_order = false;
};

// That of servers which only reduce.
ServerTraffic reducing_traffic();

// Connects this rank to them. Servers learn the rules from rank 0; `strategy`
// says in words how this rank trains, and all have to say the same. Before the
// job's communicator is made: until a rank is here, servers wait.
Result<std::unique_ptr<KvWorker>> connect_servers(
    const Env& env, KvRules rules, const std::string& strategy,
    const CommunicatorOptions& settings, const ServerTraffic& traffic = {});

}  // namespace rondo
