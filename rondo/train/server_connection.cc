#include "rondo/train/server_connection.h"

#include <climits>

#include "rondo/rendezvous/job_env.h"
#include "rondo/train/server_share.h"

namespace rondo {
namespace {

// Of a server that is not started again: one that is gone stays gone.
constexpr Duration kServerPatience = std::chrono::seconds(2);

// How long a rank looks for a server whose connection broke. One that is
// started again reads its log first; the launcher says when there is no use in
// waiting.
Result<Duration> patience_of(const Env& env,
                             const CommunicatorOptions& settings) {
  RONDO_ASSIGN_OR_RETURN(const int64_t restarts,
                         env.get_int("RONDO_RESTART_SERVERS", 0, 0, INT_MAX));
  return restarts > 0 ? Duration(seconds(settings.timeout)) : kServerPatience;
}

}  // namespace

Result<int> servers_of_job(const Env& env) {
  RONDO_ASSIGN_OR_RETURN(const int64_t servers,
                         env.get_int("RONDO_SERVERS", 0, 0, 1 << 16));
  return static_cast<int>(servers);
}

ServerTraffic reducing_traffic() {
  return {.most_part_bytes = kServedPart,
          .most_under_way = kServedAtOnce,
          .in_order = true};
}

Result<std::unique_ptr<KvWorker>> connect_servers(
    const Env& env, KvRules rules, const std::string& strategy,
    const CommunicatorOptions& settings, const ServerTraffic& traffic) {
  RONDO_ASSIGN_OR_RETURN(JobEnv job, JobEnv::from(env));
  RONDO_ASSIGN_OR_RETURN(const int servers, servers_of_job(env));
  const Deadline deadline(seconds(settings.connect_timeout));
  RONDO_ASSIGN_OR_RETURN(auto store, open_store(job, deadline));
  rules.workers = job.size;
  rules.optimizer = KvOptimizer::gradient_descent(0);
  RONDO_ASSIGN_OR_RETURN(const Duration patience, patience_of(env, settings));
  RONDO_RETURN_IF_ERROR(job.rank == 0
                            ? publish_rules(*store, rules, strategy)
                            : check_strategy(*store, strategy, deadline));
  return KvWorker::connect(
      {.worker = job.rank,
       .workers = job.size,
       .servers = servers,
       .store = std::move(store),
       .token = settings.token.empty() ? job.token : settings.token,
       .connect_timeout = deadline.left(),
       .timeout = seconds(settings.timeout),
       .server_patience = patience,
       .most_part_bytes = traffic.most_part_bytes,
       .most_under_way = traffic.most_under_way,
       .in_order = traffic.in_order});
}

}  // namespace rondo
