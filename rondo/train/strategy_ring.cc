// The part of Strategy that makes rings, and those that servers help.
#include <algorithm>

#include "rondo/rendezvous/job_env.h"
#include "rondo/train/hybrid_exchange.h"
#include "rondo/train/server_connection.h"
#include "rondo/train/strategy_state.h"

namespace rondo {
namespace {

// The slowest rank's, so that all choose alike. Ranks of one host reach each
// other through its memory.
Status agree_on_rates(Communicator& comm, FactorOptions& factors) {
  if (factors.use != FactorUse::kAuto || comm.size() == 1) return {};
  if (factors.link_rate <= 0) {
    factors.link_rate = kMemoryRate;
    for (int peer = 0; peer < comm.size(); ++peer)
      if (comm.transport_to(peer) == "tcp") factors.link_rate = kNetworkRate;
  }
  if (factors.flop_rate <= 0) factors.flop_rate = kFlopRate;
  std::vector<double> rates = {factors.link_rate, factors.flop_rate};
  RONDO_RETURN_IF_ERROR(comm.allreduce(rates, {.op = ReduceOp::kMin}));
  factors.link_rate = rates[0];
  factors.flop_rate = rates[1];
  return {};
}

Status check(const HybridOptions& options) {
  const RingOptions& ring = options.ring;
  RONDO_RETURN_IF_ERROR(check_wire(ring.wire));
  if (ring.accumulate < 1)
    return error(Code::kInvalidArgument,
                 "accumulate is {}, expected 1 run or more", ring.accumulate);
  if (ring.join && ring.accumulate > 1)
    return error(Code::kInvalidArgument,
                 "join does not go together with accumulate");
  // Not `> 1`, which lets NaN pass.
  if (!(options.server_share <= 1))
    return error(Code::kInvalidArgument,
                 "the servers' share is {}, expected from 0 to 1, or below 0 "
                 "for what takes the least time",
                 options.server_share);
  return {};
}

// What servers do for a job's hybrid. Alone, a rank has nothing to reduce.
Result<std::unique_ptr<KvWorker>> reducing_servers(
    const Env& env, const CommunicatorOptions& settings) {
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(env));
  RONDO_ASSIGN_OR_RETURN(const int servers, servers_of_job(env));
  if (servers == 0 || job.size == 1) return std::unique_ptr<KvWorker>();
  return connect_servers(env, {.mode = KvMode::kSync}, "hybrid", settings,
                         reducing_traffic());
}

}  // namespace

Result<Strategy> Strategy::ring(const RingOptions& options) {
  return ring_of(Env::process(), "ring", {options}, false);
}

Result<Strategy> Strategy::hybrid(const HybridOptions& options) {
  return ring_of(Env::process(), "hybrid", options, false);
}

Result<Strategy> Strategy::ring_of(const Env& env, const std::string& name,
                                   const HybridOptions& given,
                                   bool any_options) {
  HybridOptions options = given;
  RONDO_RETURN_IF_ERROR(read_factor_options(env, options.ring.factors));
  const std::string& group = options.ring.group;
  JobStrategies& all = job_strategies();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<void>& known = all.states[group];
  if (auto state = std::static_pointer_cast<State>(known.lock())) {
    const std::lock_guard state_lock(state->mutex);
    if (!state->comm.valid())
      return error(Code::kInvalidArgument,
                   "the group \"{}\" of this job was closed: give another name",
                   group);
    if (!any_options && state->options != options)
      return error(Code::kInvalidArgument,
                   "the group \"{}\" of this job is there already, with other "
                   "options: give the same, or another name",
                   group);
    return Strategy(name, state);
  }
  RONDO_RETURN_IF_ERROR(check(options));
  RONDO_ASSIGN_OR_RETURN(auto settings, CommunicatorOptions::from_env(env));
  settings.name = group;
  std::unique_ptr<KvWorker> servers;
  if (name == "hybrid") {
    RONDO_ASSIGN_OR_RETURN(servers, reducing_servers(env, settings));
  }
  RONDO_ASSIGN_OR_RETURN(auto comm, Communicator::world(std::move(settings)));
  RONDO_ASSIGN_OR_RETURN(Strategy made, joined(name, std::move(comm),
                                               std::move(servers), options));
  known = made.state_;
  return made;
}

Result<Strategy> Strategy::ring(Communicator comm, const RingOptions& options) {
  return joined("ring", std::move(comm), nullptr, {options});
}

Result<Strategy> Strategy::hybrid(Communicator comm,
                                  std::unique_ptr<KvWorker> servers,
                                  const HybridOptions& options) {
  return joined("hybrid", std::move(comm), std::move(servers), options);
}

Result<Strategy> Strategy::joined(const std::string& name, Communicator comm,
                                  std::unique_ptr<KvWorker> servers,
                                  const HybridOptions& options) {
  if (!comm.valid())
    return error(Code::kInvalidArgument, "the communicator is empty");
  RONDO_RETURN_IF_ERROR(check(options));
  auto state = std::make_shared<State>();
  state->rank = comm.rank();
  state->size = comm.size();
  state->options = options;
  const RingOptions& ring = options.ring;
  GradientExchange& exchange = state->exchange;
  exchange = {ring.group, comm.size(), ring.buckets, ring.wire, ring.factors};
  if (servers)
    exchange.server_share =
        options.server_share >= 0
            ? ServerShare{.share = options.server_share}
            : best_server_share(comm.size(), servers->servers());
  // A rank without data does not know how many rows the others have.
  if (ring.join) exchange.factors.use = FactorUse::kOff;
  RONDO_RETURN_IF_ERROR(agree_on_rates(comm, exchange.factors));
  const bool chooses = exchange.factors.use == FactorUse::kAuto;
  std::unique_ptr<Exchange> by;
  if (servers)
    by = std::make_unique<HybridExchange>(comm, chooses, std::move(servers),
                                          exchange.server_share);
  else
    by = std::make_unique<CommunicatorExchange>(comm, chooses);
  constexpr double kMost = 1e15;  // 16 times as much is still a number
  const double usual =
      ring.buckets.tune
          ? std::min(bucket_bytes(ring.buckets, comm.size()), kMost)
          : 0;
  state->group = std::make_shared<ExchangeGroup>(ring.group, std::move(by),
                                                 static_cast<int64_t>(usual));
  RONDO_RETURN_IF_ERROR(ExchangeGroup::publish(state->group));
  state->comm = std::move(comm);
  return Strategy(name, std::move(state));
}

}  // namespace rondo
