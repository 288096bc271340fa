#include "rondo/train/strategy.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/exchange.h"
#include "rondo/graph/ops/state.h"
#include "rondo/rendezvous/job_env.h"
#include "rondo/train/accumulated_gradients.h"
#include "rondo/train/communicator_exchange.h"
#include "rondo/train/replica_check.h"
#include "rondo/train/strategy_name.h"
#include "rondo/train/strategy_state.h"

namespace rondo {
namespace {

std::vector<std::shared_ptr<void>>& kept_for_ever() {
  static auto* const all = new std::vector<std::shared_ptr<void>>;
  return *all;
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
  RONDO_RETURN_IF_ERROR(backup_of(env, kind, job.size).status());
  HybridOptions hybrid;
  RONDO_ASSIGN_OR_RETURN(hybrid.ring.buckets.tune, tunes_buckets(env));
  RONDO_ASSIGN_OR_RETURN(const double server_share, server_share_of(env));
  switch (kind) {
    case StrategyKind::kSingle: return single();
    case StrategyKind::kRing:
      hybrid.ring.group = RingOptions().group;
      return ring_of(env, "ring", hybrid, true);
    case StrategyKind::kHybrid:
      hybrid.server_share = server_share;
      return ring_of(env, "hybrid", hybrid, true);
    default: break;
  }
  RONDO_ASSIGN_OR_RETURN(const auto options,
                         ParameterServerOptions::from_env(env));
  return servers_of(env, options, true);
}

JobStrategies& job_strategies() {
  static auto* const all = new JobStrategies;
  return *all;
}

Status check_wire(DType wire) {
  if (wire == DType::kF32 || wire == DType::kBF16) return {};
  return error(Code::kInvalidArgument,
               "f32 gradients cannot travel as {}: expected f32 or bf16",
               name_of(wire));
}

// What a child has is kept for ever: its ends would wait for threads that are
// not there, and tell the other ranks that the parent was gone.
Strategy::State::~State() {
  if (!forked()) return;
  auto& kept = kept_for_ever();
  kept.push_back(std::move(group));
  kept.push_back(std::move(servers));
  kept.push_back(std::make_shared<Communicator>(std::move(comm)));
}

Strategy Strategy::single() { return Strategy("single"); }

int Strategy::rank() const { return state_ ? state_->rank : 0; }
int Strategy::size() const { return state_ ? state_->size : 1; }
int Strategy::accumulate() const {
  return state_ ? state_->options.ring.accumulate : 1;
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

bool Strategy::may_join() const {
  return size() > 1 && state_->options.ring.join;
}

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
  std::string text = to_text(travels());
  for (const BucketChoice& choice : bucket_choices())
    text += fmt::format("{}\n", to_text(choice));
  return text;
}

std::vector<BucketChoice> Strategy::bucket_choices() const {
  return state_ ? state_->group->choices() : std::vector<BucketChoice>();
}

std::vector<Travel> Strategy::travels() const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  return state_->travels;
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

void Strategy::abandon(const std::string& why) {
  if (has_servers()) state_->servers->give_up(why);
  close();
}

void Strategy::close() {
  if (!state_ || state_->forked()) return;
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
