// DistributedDataParallel: one module of libtorch's, trained by all ranks.
//
//   auto comm = rondo::Communicator::world().value();
//   rondo::torch::DistributedDataParallel ddp(net, comm);
//   ::torch::optim::SGD optimizer(ddp.parameters(), 0.1);
//   ...
//   optimizer.zero_grad();
//   auto loss = loss_of(ddp.forward(x), y);
//   loss.backward();  // from here on gradients are the average of all ranks'
//   optimizer.step();
//
// Every rank makes the same module and calls the same forward and backward
// passes. Parameters and buffers begin as rank 0's. During the backward pass
// gradients are averaged bucket by bucket, while the rest of it goes on; it
// returns when all are. Gradients are then views of their buckets, in memory
// that ranks on one host share.
//
// What fails throws rondo::Error, from the constructor, forward() or
// backward(), on every rank, and ends the communicator. It must not be used for
// anything else during a backward pass. One thread at a time; the module may be
// used besides, for evaluation on one rank for example, but not for a backward
// pass.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "rondo/base/export.h"
#include "rondo/collectives/communicator.h"

namespace rondo::torch {

// The same on every rank.
struct DistributedDataParallelOptions {
  // The first bucket is small, so that communication begins early; the others
  // are large, so that latency is paid seldom.
  int64_t first_bucket_bytes = 1 << 20;
  int64_t bucket_bytes = 25 << 20;
  // Rank 0's buffers (running averages, ...) are given to all before a forward
  // pass, if the one before was for training.
  bool broadcast_buffers = true;
  // Parameters may have no part in a step. Those that have none on any rank
  // keep their gradient. Without it, that is an error which names them.
  bool find_unused_parameters = false;
};

// What does not depend on the module's class.
class RONDO_API ModuleReplica {
 public:
  // Collective over the communicator's ranks.
  ModuleReplica(const ::torch::nn::Module& module, Communicator comm,
                const DistributedDataParallelOptions& options);
  ~ModuleReplica();
  ModuleReplica(const ModuleReplica&) = delete;
  ModuleReplica& operator=(const ModuleReplica&) = delete;

  void begin_forward();
  // Whether gradients of the forward passes to come are averaged; what was said
  // before.
  bool set_sync(bool sync);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// While it lives, forward passes are for gradients that stay on their rank and
// add up; the first backward pass after it averages the sum.
class [[nodiscard]] NoSync {
 public:
  explicit NoSync(std::shared_ptr<ModuleReplica> replica)
      : replica_(std::move(replica)), before_(replica_->set_sync(false)) {}
  ~NoSync() { replica_->set_sync(before_); }
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;

 private:
  const std::shared_ptr<ModuleReplica> replica_;
  const bool before_;
};

// Net is the module's class: LinearImpl of torch::nn::Linear. As a module it
// has one child, "module", as PyTorch's in Python has.
template <class Net>
class DistributedDataParallel : public ::torch::nn::Module {
 public:
  using Options = DistributedDataParallelOptions;

  DistributedDataParallel(std::shared_ptr<Net> net, Communicator comm,
                          const Options& options = {})
      : ::torch::nn::Module("DistributedDataParallel"),
        net_(register_module("module", std::move(net))),
        replica_(
            std::make_shared<ModuleReplica>(*net_, std::move(comm), options)) {}
  DistributedDataParallel(const ::torch::nn::ModuleHolder<Net>& net,
                          Communicator comm, const Options& options = {})
      : DistributedDataParallel(net.ptr(), std::move(comm), options) {}
  DistributedDataParallel(const DistributedDataParallel&) = delete;
  DistributedDataParallel& operator=(const DistributedDataParallel&) = delete;

  // What the module's forward() takes and returns.
  template <class... Args>
  decltype(auto) forward(Args&&... args) {
    replica_->begin_forward();
    return net_->forward(std::forward<Args>(args)...);
  }
  template <class... Args>
  decltype(auto) operator()(Args&&... args) {
    return forward(std::forward<Args>(args)...);
  }

  NoSync no_sync() { return NoSync(replica_); }
  const std::shared_ptr<Net>& module() const { return net_; }

 private:
  const std::shared_ptr<Net> net_;
  const std::shared_ptr<ModuleReplica> replica_;
};

}  // namespace rondo::torch
