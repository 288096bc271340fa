// Strategy: how the ranks of a job train one model.
//
//   Strategy strategy = Strategy::from_env().value();
//   Momentum momentum({.learning_rate = 0.1});
//   auto optimizer = strategy.distribute(momentum);
//   Node& train = optimizer.minimize(loss);
//   session.run(strategy.initializer(graph));
//
// Every rank builds the same graph and feeds its own share of each batch. With
// the ring, gradients are averaged over all ranks before the updates, so the
// variables stay the same on all of them, and a step is that of one process on
// the whole batch. So it is with hybrid, where other processes of the job help
// to reduce. With parameter servers, these keep the variables and make the
// updates.
#pragma once

#include <memory>
#include <string>

#include "rondo/base/env.h"
#include "rondo/collectives/communicator.h"
#include "rondo/kernels/bucket_choice.h"
#include "rondo/ps/kv_mode.h"
#include "rondo/runtime/session.h"
#include "rondo/train/exchanged_gradients.h"
#include "rondo/train/joint_gradients.h"

namespace rondo {

struct RingOptions {
  std::string group = "ring";  // a name in this process
  BucketOptions buckets = {};
  // As what f32 gradients travel: f32, or bf16 in half the bytes.
  DType wire = DType::kF32;
  // Whether gradients of fully connected layers travel as their factors.
  FactorOptions factors = {};
  // Of how many runs, each with a micro-batch, the gradients make one step.
  // They are exchanged and applied in the last of them.
  int accumulate = 1;
  // Whether ranks may come to the end of their data at different steps: then
  // they call Strategy::join().
  bool join = false;
  bool operator==(const RingOptions&) const = default;
};

struct HybridOptions {
  RingOptions ring = {.group = "hybrid"};
  // What of every bucket goes through servers, from 0 to 1; below 0: what takes
  // the least time where all links are alike (see server_share.h).
  double server_share = -1;
  bool operator==(const HybridOptions&) const = default;
};

struct ParameterServerOptions {
  std::string group = "ps";  // a name in this process
  // kSync: as one process on the batches of all ranks; kAsync: each rank's
  // gradients count when they come; kBounded (ssp): so, but no rank is more
  // than `staleness` steps ahead of the slowest.
  KvMode mode = KvMode::kSync;
  int64_t staleness = 4;
  // Of kSync: a step is made when all but so many ranks have sent their
  // gradients; what comes later is dropped.
  int backup = 0;
  // As what dense f32 gradients travel: f32, or bf16 in half the bytes. Values
  // come back as they are.
  DType wire = DType::kF32;
  bool operator==(const ParameterServerOptions&) const = default;
  // What RONDO_STRATEGY, RONDO_STALENESS and RONDO_BACKUP say. The strategy is
  // one that needs servers.
  RONDO_API static Result<ParameterServerOptions> from_env(const Env& env);
};

class DistributedOptimizer;
class KvWorker;

// Copies are the same strategy. The ring's communicator closes with the last of
// them and the last session that ran its graph, or by close(). Any thread, but
// which exchange comes first must not differ between ranks: one run at a time
// trains.
class RONDO_API Strategy {
 public:
  // What RONDO_STRATEGY says (`rondo run --strategy`); unset: the ring in a job
  // of several ranks, single otherwise.
  static Result<Strategy> from_env(const Env& env = Env::process());
  // This process trains alone.
  static Strategy single();
  // All ranks of this job. Asked for again, the same one; an error when it was
  // closed, or has other options.
  static Result<Strategy> ring(const RingOptions& options = {});
  // The ranks of this communicator, which is the strategy's from then on.
  static Result<Strategy> ring(Communicator comm,
                               const RingOptions& options = {});

  // The ring, and the servers that `rondo run --servers` started to reduce a
  // share of each bucket; without servers, the ring alone. Asked for again, as
  // ring().
  static Result<Strategy> hybrid(const HybridOptions& options = {});
  // The servers of this worker, whose number is the communicator's rank; none:
  // the ring alone.
  static Result<Strategy> hybrid(Communicator comm,
                                 std::unique_ptr<KvWorker> servers,
                                 const HybridOptions& options = {});

  // The servers that `rondo run --servers` started. Asked for again, as ring().
  static Result<Strategy> parameter_server(
      const ParameterServerOptions& options = {});
  // The servers of this worker, whose number is the communicator's rank.
  static Result<Strategy> parameter_server(
      Communicator comm, std::unique_ptr<KvWorker> worker,
      const ParameterServerOptions& options = {});

  // "single", "ring", "hybrid", "ps", "ps-async" or "ssp".
  const std::string& name() const { return name_; }
  int rank() const;
  int size() const;

  // An optimizer whose updates are those of all ranks together. It refers to
  // this one, which keeps the slots.
  DistributedOptimizer distribute(Optimizer& optimizer) const;
  // Whether other processes keep the variables.
  bool has_servers() const;
  // Whether all ranks have the same variables between steps.
  bool in_step() const;
  // With backup workers: ranks that will wait for each other, otherwise than by
  // a step, call pause() before it, so that one that is late makes its steps
  // without them, and resume() behind it, all of them. Else they do nothing.
  Status pause() const;
  Status resume() const;
  // The mean of each gradient over all ranks: what distribute() updates by;
  // not with parameter servers.
  std::vector<GradientAndVariable> exchange(
      std::vector<GradientAndVariable> gradients) const;
  // Of how many runs a step is made: RingOptions::accumulate.
  int accumulate() const;
  // With RingOptions::join: what distribute() updates by, on a rank with data
  // and on one that joins in; keep_joining() then keeps the latter's updates.
  bool may_join() const;
  JointGradients joint_exchange(
      const std::vector<GradientAndVariable>& gradients) const;
  // How many had data, once a step of the others has been joined.
  Value keep_joining(Value active, Node& updates) const;
  // On a rank whose data have ended: takes part in the steps of the others
  // until the last has called this too. The session's graph has one training
  // node of this strategy. `feeds` are what updates need, such as a learning
  // rate.
  Status join(Session& session, const std::vector<Feed>& feeds = {}) const;
  // How each gradient of all exchange() so far travels, a line for each:
  // "dense1/w: factors, 11206656 bytes", which a rank sends in a step.
  std::string explain() const;
  std::vector<Travel> travels() const;
  // With BucketOptions::tune: what was tried and found, for each kind of
  // training step that has been made. The same on all ranks.
  std::vector<BucketChoice> bucket_choices() const;
  // With parameter servers: a node that they replace this update by, which is
  // not run then. Throws for an update that they do not have.
  Node& served(Node& update) const;
  // Initialises all variables of the graph, then sets them to rank 0's.
  Node& initializer(Graph& graph) const;
  // Only the latter: after a checkpoint was restored on rank 0.
  Node& broadcast(Graph& graph) const;
  // With parameter servers: gets what the optimizers keep there into this
  // rank's variables, before it writes a checkpoint; else does nothing.
  Node& pull_slots(Graph& graph) const;
  // Compares the checksums of all trainable variables; the error names those
  // that differ and where. All ranks call it between the same steps. With
  // strategies whose ranks are not in step, there is nothing to compare.
  Status check_replicas(Session& session) const;
  // The same for tensors that the caller fetched, with their names.
  Status check_replicas(const std::vector<std::string>& names,
                        const std::vector<Tensor>& tensors) const;

  // Instead of close(), where this rank's program fails: the others are told
  // why, where they would otherwise go on without it.
  void abandon(const std::string& why);
  // Leaves the group; exchanges from then on fail.
  void close();
  bool closed() const;

 private:
  struct State;
  explicit Strategy(std::string name, std::shared_ptr<State> state = nullptr)
      : name_(std::move(name)), state_(std::move(state)) {}
  // The ring or hybrid of these ranks.
  static Result<Strategy> joined(const std::string& name, Communicator comm,
                                 std::unique_ptr<KvWorker> servers,
                                 const HybridOptions& options);
  static Result<Strategy> servers_of(const Env& env,
                                     const ParameterServerOptions& options,
                                     bool any_options);
  bool alone() const { return size() == 1 && !has_servers(); }
  // Behind a broadcast, whose values these are: what servers have too.
  Node& set_servers(Graph& graph, const std::vector<Value>& variables,
                    const std::vector<Value>& values) const;
  ExchangePlan planned(const std::vector<GradientAndVariable>& gradients) const;
  // The collection of what keep_joining() gave.
  std::string joining() const;
  // The ring or hybrid of this job; one that is there already may have other
  // options.
  static Result<Strategy> ring_of(const Env& env, const std::string& name,
                                  const HybridOptions& options,
                                  bool any_options);

  std::string name_;
  std::shared_ptr<State> state_;  // nullptr: single
};

class RONDO_API DistributedOptimizer final : public Optimizer {
 public:
  DistributedOptimizer(Strategy strategy, Optimizer& optimizer)
      : Optimizer(optimizer.name()),
        strategy_(std::move(strategy)),
        optimizer_(optimizer) {}

  Node& apply_gradients(const std::vector<GradientAndVariable>& gradients,
                        Value global_step = {},
                        const std::string& name = {}) override;
  Value slot(Value variable, std::string_view what) const override {
    return optimizer_.slot(variable, what);
  }

 private:
  Value update(Value variable, const Gradient& gradient) override;

  const Strategy strategy_;
  Optimizer& optimizer_;
};

}  // namespace rondo
