// The part of Strategy that is about parameter servers.
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/parameters.h"
#include "rondo/graph/ops/state.h"
#include "rondo/rendezvous/job_env.h"
#include "rondo/train/communicator_exchange.h"
#include "rondo/train/server_connection.h"
#include "rondo/train/server_update.h"
#include "rondo/train/strategy_name.h"
#include "rondo/train/strategy_state.h"

namespace rondo {

namespace {

std::string described(const ParameterServerOptions& options) {
  std::string text = strategy_name(options.mode);
  if (options.mode == KvMode::kBounded)
    text += fmt::format(" with staleness {}", options.staleness);
  if (options.backup > 0)
    text += fmt::format(" with {} backup workers", options.backup);
  return text;
}

Status check_backup(const ParameterServerOptions& options, int ranks) {
  RONDO_ASSIGN_OR_RETURN(const StrategyKind kind,
                         parse_strategy(strategy_name(options.mode)));
  return check_backup(fmt::format("{} backup workers", options.backup),
                      options.backup, kind, ranks);
}

}  // namespace

Result<ParameterServerOptions> ParameterServerOptions::from_env(
    const Env& env) {
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(env));
  RONDO_ASSIGN_OR_RETURN(const StrategyKind kind,
                         parse_strategy(env.get_or("RONDO_STRATEGY", "ps")));
  ParameterServerOptions options;
  options.mode = kind == StrategyKind::kPsAsync ? KvMode::kAsync
                 : kind == StrategyKind::kSsp   ? KvMode::kBounded
                                                : KvMode::kSync;
  RONDO_ASSIGN_OR_RETURN(
      options.staleness,
      env.get_int("RONDO_STALENESS", options.staleness, 0, 1'000'000'000));
  RONDO_ASSIGN_OR_RETURN(options.backup, backup_of(env, kind, job.size));
  return options;
}

Result<Strategy> Strategy::parameter_server(
    const ParameterServerOptions& options) {
  return servers_of(Env::process(), options, false);
}

Result<Strategy> Strategy::servers_of(const Env& env,
                                      const ParameterServerOptions& options,
                                      bool any_options) {
  JobStrategies& all = job_strategies();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<void>& known = all.states[options.group];
  if (auto state = std::static_pointer_cast<State>(known.lock())) {
    const std::lock_guard state_lock(state->mutex);
    if (!state->comm.valid() || !state->servers ||
        (!any_options && state->served != options))
      return error(Code::kInvalidArgument,
                   "the group \"{}\" of this job was closed, or has other "
                   "options: a job's parameter servers serve once",
                   options.group);
    return Strategy(strategy_name(state->served.mode), state);
  }
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(env));
  RONDO_ASSIGN_OR_RETURN(const int servers, servers_of_job(env));
  if (servers == 0)
    return error(Code::kInvalidArgument,
                 "this job has no parameter servers: start it with rondo run "
                 "-n {} --servers 1 --strategy {} -- PROGRAM",
                 job.size, strategy_name(options.mode));
  RONDO_RETURN_IF_ERROR(check_backup(options, job.size));
  RONDO_RETURN_IF_ERROR(check_wire(options.wire));
  RONDO_ASSIGN_OR_RETURN(auto settings, CommunicatorOptions::from_env(env));
  settings.name = options.group;
  RONDO_ASSIGN_OR_RETURN(auto worker,
                         connect_servers(env,
                                         {.mode = options.mode,
                                          .backup = options.backup,
                                          .staleness = options.staleness},
                                         described(options), settings));
  RONDO_ASSIGN_OR_RETURN(auto comm, Communicator::world(std::move(settings)));
  RONDO_ASSIGN_OR_RETURN(
      Strategy made,
      parameter_server(std::move(comm), std::move(worker), options));
  known = made.state_;
  return made;
}

Result<Strategy> Strategy::parameter_server(
    Communicator comm, std::unique_ptr<KvWorker> worker,
    const ParameterServerOptions& options) {
  if (!comm.valid() || !worker)
    return error(Code::kInvalidArgument,
                 "the communicator or the worker is empty");
  RONDO_RETURN_IF_ERROR(check_backup(options, comm.size()));
  RONDO_RETURN_IF_ERROR(check_wire(options.wire));
  auto state = std::make_shared<State>();
  state->rank = comm.rank();
  state->size = comm.size();
  state->exchange.group = options.group;
  state->exchange.size = comm.size();
  state->served = options;
  state->servers = std::make_shared<KvParameters>(
      std::move(worker), comm, options.mode == KvMode::kSync);
  state->group = std::make_shared<ExchangeGroup>(
      options.group, std::make_unique<ServerExchange>(comm, state->servers));
  RONDO_RETURN_IF_ERROR(ExchangeGroup::publish(state->group));
  state->comm = std::move(comm);
  return Strategy(strategy_name(options.mode), std::move(state));
}

bool Strategy::in_step() const {
  return !has_servers() ||
         (state_->served.mode == KvMode::kSync && state_->served.backup == 0);
}

Status Strategy::pause() const {
  return has_servers() && state_->served.backup > 0 ? state_->servers->pause()
                                                    : Status();
}

Status Strategy::resume() const {
  return has_servers() && state_->served.backup > 0 ? state_->servers->resume()
                                                    : Status();
}

bool Strategy::has_servers() const { return state_ && state_->servers; }

Node& Strategy::served(Node& update) const {
  return server_update(update, state_->exchange.group, state_->served.wire);
}

Node& Strategy::set_servers(Graph& graph, const std::vector<Value>& variables,
                            const std::vector<Value>& values) const {
  const std::string& group = state_->exchange.group;
  std::map<std::string_view, Value> by_name;
  for (size_t i = 0; i < variables.size(); ++i)
    by_name[variable_name(variables[i])] = values[i];
  const auto pushes = pushes_of(graph, group);
  std::vector<Value> tensors;
  using Names = std::vector<std::string>;
  for (const Node* push : pushes) {
    const Attrs& attrs = push->attrs();
    tensors.push_back(by_name.at(attrs.get<std::string>("key")));
    for (const char* more : {"slots", "powers"})
      for (const std::string& name : attrs.get<Names>(more))
        tensors.push_back(by_name.at(name));
  }
  if (pushes.empty())
    throw Error(Code::kInvalidArgument,
                "no variable is trained by parameter servers yet: build the "
                "training operation before the initializer");
  return set_parameters(pushes, tensors,
                        {.group = group,
                         .sequence = next_sequence(graph, group),
                         .name = "servers"});
}

Node& Strategy::pull_slots(Graph& graph) const {
  std::vector<Node*> assigned;
  if (has_servers()) {
    const NameScope scope(graph, state_->exchange.group);
    std::map<std::string_view, Value> by_name;
    for (const Value& variable : graph.collection(kVariables))
      by_name[variable_name(variable)] = variable;
    for (const Node* push : pushes_of(graph, state_->exchange.group)) {
      const auto& names = push->attrs().get<std::vector<std::string>>("slots");
      const std::vector<Value> slots = rondo::pull_slots(*push);
      for (size_t k = 0; k < names.size(); ++k)
        assigned.push_back(assign(by_name.at(names[k]), slots[k]).node);
    }
  }
  return rondo::group(graph, assigned, "pull_slots");
}

}  // namespace rondo
