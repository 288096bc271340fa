#include "rondo/train/strategy.h"

#include <map>
#include <mutex>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/exchange.h"
#include "rondo/graph/ops/parameters.h"
#include "rondo/graph/ops/state.h"
#include "rondo/kernels/exchange_group.h"
#include "rondo/rendezvous/job_env.h"
#include "rondo/train/accumulated_gradients.h"
#include "rondo/train/communicator_exchange.h"
#include "rondo/train/kv_parameters.h"
#include "rondo/train/replica_check.h"
#include "rondo/train/server_rules.h"
#include "rondo/train/server_update.h"
#include "rondo/train/strategy_name.h"

namespace rondo {

struct Strategy::State {
  int rank = 0;
  int size = 1;
  RingOptions options;
  GradientExchange exchange;
  std::shared_ptr<ExchangeGroup> group;
  std::mutex mutex;
  // Guarded by mutex.
  Communicator comm;  // empty once closed
  std::vector<Travel> travels;
  ParameterServerOptions served;
  std::shared_ptr<KvParameters> servers;  // nullptr: none
};

namespace {

// The rings, and the groups with servers, of this job by the name of their
// group, so that a program may ask for its strategy wherever it needs it.
struct Rings {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<void>> states;  // guarded by mutex
};

Rings& rings() {
  static auto* const all = new Rings;
  return *all;
}

// The slowest rank's, so that all choose alike. Ranks of one host reach each
// other through its memory.
Status agree_on_rates(Communicator& comm, FactorOptions& factors) {
  if (factors.use != FactorUse::kAuto || comm.size() == 1) return {};
  if (factors.link_rate <= 0) {
    factors.link_rate = kMemoryRate;
    for (int peer = 0; peer < comm.size(); ++peer)
      if (comm.transport_to(peer) == "tcp") factors.link_rate = kNetworkRate;
  }
  std::vector<double> rates = {factors.link_rate, factors.flop_rate};
  RONDO_RETURN_IF_ERROR(comm.allreduce(rates, {.op = ReduceOp::kMin}));
  factors.link_rate = rates[0];
  factors.flop_rate = rates[1];
  return {};
}

}  // namespace

Result<Strategy> Strategy::from_env(const Env& env) {
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(env));
  const auto name = env.get("RONDO_STRATEGY");
  StrategyKind kind =
      job.size > 1 ? StrategyKind::kRing : StrategyKind::kSingle;
  if (name) {
    auto parsed = parse_strategy(*name);
    if (!parsed.ok()) return parsed.status().with_context("RONDO_STRATEGY");
    kind = *parsed;
  }
  switch (kind) {
    case StrategyKind::kSingle: return single();
    case StrategyKind::kRing: return ring_of(env, {}, true);
    default: break;
  }
  ParameterServerOptions options;
  options.mode = kind == StrategyKind::kPs        ? KvMode::kSync
                 : kind == StrategyKind::kPsAsync ? KvMode::kAsync
                                                  : KvMode::kBounded;
  RONDO_ASSIGN_OR_RETURN(
      options.staleness,
      env.get_int("RONDO_STALENESS", options.staleness, 0, 1'000'000'000));
  return servers_of(env, options, true);
}

Strategy Strategy::single() { return Strategy("single"); }

Result<Strategy> Strategy::ring(const RingOptions& options) {
  return ring_of(Env::process(), options, false);
}

Result<Strategy> Strategy::ring_of(const Env& env, const RingOptions& options,
                                   bool any_options) {
  Rings& all = rings();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<void>& known = all.states[options.group];
  if (auto state = std::static_pointer_cast<State>(known.lock())) {
    const std::lock_guard state_lock(state->mutex);
    if (!state->comm.valid())
      return error(Code::kInvalidArgument,
                   "the group \"{}\" of this job was closed: give another name",
                   options.group);
    if (!any_options && state->options != options)
      return error(Code::kInvalidArgument,
                   "the group \"{}\" of this job is there already, with other "
                   "options: give the same, or another name",
                   options.group);
    return Strategy("ring", state);
  }
  RONDO_ASSIGN_OR_RETURN(auto settings, CommunicatorOptions::from_env(env));
  settings.name = options.group;
  RONDO_ASSIGN_OR_RETURN(auto comm, Communicator::world(std::move(settings)));
  RONDO_ASSIGN_OR_RETURN(Strategy made, joined(std::move(comm), options));
  known = made.state_;
  return made;
}

Result<Strategy> Strategy::ring(Communicator comm, const RingOptions& options) {
  if (!comm.valid())
    return error(Code::kInvalidArgument, "the communicator is empty");
  return joined(std::move(comm), options);
}

Result<Strategy> Strategy::joined(Communicator comm,
                                  const RingOptions& options) {
  if (options.wire != DType::kF32 && options.wire != DType::kBF16)
    return error(Code::kInvalidArgument,
                 "f32 gradients cannot travel as {}: expected f32 or bf16",
                 name_of(options.wire));
  if (options.accumulate < 1)
    return error(Code::kInvalidArgument,
                 "accumulate is {}, expected 1 run or more",
                 options.accumulate);
  if (options.join && options.accumulate > 1)
    return error(Code::kInvalidArgument,
                 "join does not go together with accumulate");
  auto state = std::make_shared<State>();
  state->rank = comm.rank();
  state->size = comm.size();
  state->options = options;
  state->exchange = {options.group, comm.size(), options.buckets, options.wire,
                     options.factors};
  // A rank without data does not know how many rows the others have.
  if (options.join) state->exchange.factors.use = FactorUse::kOff;
  RONDO_RETURN_IF_ERROR(agree_on_rates(comm, state->exchange.factors));
  state->group = std::make_shared<ExchangeGroup>(
      options.group,
      std::make_unique<CommunicatorExchange>(
          comm, state->exchange.factors.use == FactorUse::kAuto));
  RONDO_RETURN_IF_ERROR(ExchangeGroup::publish(state->group));
  state->comm = std::move(comm);
  return Strategy("ring", std::move(state));
}

// ---- Parameter servers ------------------------------------------------------

namespace {

// A server of a job is not started again, so one that is gone stays gone.
constexpr Duration kServerPatience = std::chrono::seconds(2);

Result<std::unique_ptr<KvWorker>> connect_worker(
    JobEnv job, int servers, const ParameterServerOptions& options,
    const CommunicatorOptions& settings) {
  const Deadline deadline(seconds(settings.connect_timeout));
  RONDO_ASSIGN_OR_RETURN(auto store, open_store(job, deadline));
  const KvRules rules{.mode = options.mode,
                      .workers = job.size,
                      .staleness = options.staleness,
                      .optimizer = KvOptimizer::gradient_descent(0)};
  RONDO_RETURN_IF_ERROR(job.rank == 0 ? publish_rules(*store, rules)
                                      : check_rules(*store, rules, deadline));
  return KvWorker::connect(
      {.worker = job.rank,
       .workers = job.size,
       .servers = servers,
       .store = std::move(store),
       .token = settings.token.empty() ? job.token : settings.token,
       .connect_timeout = deadline.left(),
       .timeout = seconds(settings.timeout),
       .server_patience = kServerPatience});
}

}  // namespace

Result<Strategy> Strategy::parameter_server(
    const ParameterServerOptions& options) {
  return servers_of(Env::process(), options, false);
}

Result<Strategy> Strategy::servers_of(const Env& env,
                                      const ParameterServerOptions& options,
                                      bool any_options) {
  Rings& all = rings();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<void>& known = all.states[options.group];
  if (auto state = std::static_pointer_cast<State>(known.lock())) {
    const std::lock_guard state_lock(state->mutex);
    if (!state->comm.valid() || !state->servers ||
        (!any_options && (state->served.mode != options.mode ||
                          state->served.staleness != options.staleness)))
      return error(Code::kInvalidArgument,
                   "the group \"{}\" of this job was closed, or has other "
                   "options: a job's parameter servers serve once",
                   options.group);
    return Strategy(strategy_name(state->served.mode), state);
  }
  RONDO_ASSIGN_OR_RETURN(const JobEnv job, JobEnv::from(env));
  RONDO_ASSIGN_OR_RETURN(const int64_t servers,
                         env.get_int("RONDO_SERVERS", 0, 0, 1 << 16));
  if (servers == 0)
    return error(Code::kInvalidArgument,
                 "this job has no parameter servers: start it with rondo run "
                 "-n {} --servers 1 --strategy {} -- PROGRAM",
                 job.size, strategy_name(options.mode));
  RONDO_ASSIGN_OR_RETURN(auto settings, CommunicatorOptions::from_env(env));
  settings.name = options.group;
  // First the servers: until a rank has said how it trains, they wait.
  RONDO_ASSIGN_OR_RETURN(
      auto worker,
      connect_worker(job, static_cast<int>(servers), options, settings));
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
  return !has_servers() || state_->served.mode == KvMode::kSync;
}

bool Strategy::has_servers() const { return state_ && state_->servers; }

Node& Strategy::served(Node& update) const {
  return server_update(update, state_->exchange.group);
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

// ---- All of them ------------------------------------------------------------

int Strategy::rank() const { return state_ ? state_->rank : 0; }
int Strategy::size() const { return state_ ? state_->size : 1; }
int Strategy::accumulate() const {
  return state_ ? state_->options.accumulate : 1;
}

DistributedOptimizer Strategy::distribute(Optimizer& optimizer) const {
  return {*this, optimizer};
}

std::vector<GradientAndVariable> Strategy::exchange(
    std::vector<GradientAndVariable> gradients) const {
  if (has_servers())
    throw Error(Code::kInvalidArgument,
                "parameter servers make the updates, so nobody has the mean of "
                "the gradients: use distribute(), or the strategy ring");
  if (accumulate() > 1)
    gradients = accumulated_gradients(std::move(gradients), accumulate(),
                                      state_->exchange.group);
  if (size() == 1) return gradients;
  const ExchangePlan plan = planned(gradients);
  return exchanged_gradients(std::move(gradients), state_->exchange, plan,
                             {.optional = accumulate() > 1});
}

ExchangePlan Strategy::planned(
    const std::vector<GradientAndVariable>& gradients) const {
  ExchangePlan plan = plan_exchange(gradients, state_->exchange);
  const std::lock_guard lock(state_->mutex);
  auto& travels = state_->travels;
  travels.insert(travels.end(), plan.travels.begin(), plan.travels.end());
  return plan;
}

bool Strategy::may_join() const { return size() > 1 && state_->options.join; }

JointGradients Strategy::joint_exchange(
    const std::vector<GradientAndVariable>& gradients) const {
  return joint_gradients(gradients, state_->exchange, planned(gradients));
}

std::string Strategy::joining() const {
  return fmt::format("{}/joining", state_->exchange.group);
}

Value Strategy::keep_joining(Value active, Node& updates) const {
  Graph& graph = active.graph();
  const NameScope scope(graph, state_->exchange.group);
  // Also where nobody had data, and there are no updates.
  Node& over = graph.add({.op = "Await", .control_inputs = {&updates}});
  const ControlScope after(graph, {&over});
  const Value joined = identity(active, "joined");
  graph.collection(joining()).push_back(joined);
  return joined;
}

Status Strategy::join(Session& session, const std::vector<Feed>& feeds) const {
  if (size() == 1) return {};
  if (!may_join())
    return error(Code::kInvalidArgument,
                 "this ring is without join: make it with RingOptions::join");
  const auto& collections = session.graph().collections();
  const auto at = collections.find(joining());
  const size_t nodes = at == collections.end() ? 0 : at->second.size();
  if (nodes != 1)
    return error(Code::kInvalidArgument,
                 "the graph has {} training nodes of this strategy: join needs "
                 "one",
                 nodes);
  while (true) {
    RONDO_ASSIGN_OR_RETURN(const Tensor active,
                           session.run(at->second[0], feeds));
    if (active.span<float>()[0] == 0) return {};
  }
}

std::string Strategy::explain() const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  return to_text(state_->travels);
}

Node& Strategy::initializer(Graph& graph) const {
  Node& initialized = rondo::initializer(graph);
  if (alone()) return initialized;
  const ControlScope after(graph, {&initialized}, true);
  return broadcast(graph);
}

Node& Strategy::broadcast(Graph& graph) const {
  const std::vector<Value> variables = graph.collection(kVariables);
  if (alone() || variables.empty()) return group(graph, {}, "broadcast");
  const NameScope scope(graph, state_->exchange.group);
  std::vector<Value> values;
  for (const Value& variable : variables)
    values.push_back(read_variable(variable));
  values = rondo::broadcast(
      values, {.group = state_->exchange.group,
               .sequence = next_sequence(graph, state_->exchange.group),
               .name = "variables"});
  std::vector<Node*> assigned;
  for (size_t i = 0; i < variables.size(); ++i) {
    values[i] = assign(variables[i], values[i]);
    assigned.push_back(values[i].node);
  }
  if (has_servers()) assigned.push_back(&set_servers(graph, variables, values));
  return group(graph, assigned, "broadcast");
}

Status Strategy::check_replicas(Session& session) const {
  const auto& collections = session.graph().collections();
  const auto at = collections.find(kTrainable);
  if (size() == 1 || at == collections.end() || !in_step()) return {};
  std::vector<std::string> names;
  for (const Value& variable : at->second)
    names.push_back(variable_name(variable));
  RONDO_ASSIGN_OR_RETURN(const auto tensors, session.run(at->second, {}));
  return check_replicas(names, tensors);
}

Status Strategy::check_replicas(const std::vector<std::string>& names,
                                const std::vector<Tensor>& tensors) const {
  if (size() == 1 || !in_step()) return {};
  Communicator comm;
  {
    const std::lock_guard lock(state_->mutex);
    comm = state_->comm;
  }
  if (!comm.valid())
    return error(Code::kInvalidArgument, "the strategy is closed");
  return compare_replicas(comm, names, tensors);
}

bool Strategy::closed() const {
  if (!state_) return false;
  const std::lock_guard lock(state_->mutex);
  return !state_->comm.valid();
}

void Strategy::close() {
  if (!state_) return;
  if (state_->servers) state_->servers->leave();
  Communicator last;
  {
    const std::lock_guard lock(state_->mutex);
    last = std::exchange(state_->comm, Communicator());
  }
  state_->group->close();
}

Node& DistributedOptimizer::apply_gradients(
    const std::vector<GradientAndVariable>& gradients, Value global_step,
    const std::string& name) {
  if (strategy_.has_servers())
    return optimizer_.apply_instead(
        gradients, global_step, name,
        [&](Node& update) -> Node& { return strategy_.served(update); });
  if (!strategy_.may_join())
    return optimizer_.apply_gradients(strategy_.exchange(gradients),
                                      global_step, name);
  const JointGradients joint = strategy_.joint_exchange(gradients);
  Node& training =
      optimizer_.apply_gradients(joint.training, global_step, name);
  strategy_.keep_joining(joint.active, optimizer_.apply_gradients(
                                           joint.joining, global_step, name));
  return training;
}

Value DistributedOptimizer::update(Value /*variable*/,
                                   const Gradient& /*gradient*/) {
  throw Error(Code::kInternal, "a distributed optimizer has no update");
}

}  // namespace rondo
