// Backend: c10d's interface over a Communicator and a Mailbox.
//
//   torch.distributed.init_process_group("rondo")
//
// Collectives run in the order of their calls, on one thread at a time (see
// Runner); messages on the mailbox, independent of collectives and of each
// other. What fails fails the group, with the same reason on every rank.
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "rondo/collectives/communicator.h"
#include "rondo/collectives/mailbox.h"
#include "runner.h"
#include "work.h"

namespace rondo::torch {

class Backend final : public c10d::Backend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using Lists = std::vector<Tensors>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  struct Options final : c10d::Backend::Options {
    explicit Options(std::chrono::milliseconds default_timeout)
        : c10d::Backend::Options("rondo", default_timeout) {}
  };

  // Collective over the group's ranks, which meet through `store`.
  Backend(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
          c10::intrusive_ptr<Options> options);
  ~Backend() override;

  const std::string getBackendName() const override { return "rondo"; }
  c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override {
    return options_;
  }
  void setTimeout(std::chrono::milliseconds timeout) override {
    options_->timeout = timeout;
  }
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return sequence_.load(); }

  // Reductions.
  WorkPtr allreduce(Tensors& tensors,
                    const c10d::AllreduceOptions& opts) override;
  WorkPtr allreduce_sparse(Tensors& tensors,
                           const c10d::AllreduceOptions& opts) override;
  WorkPtr allreduce_coalesced(
      Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  WorkPtr reduce_scatter(Tensors& outputs, Lists& inputs,
                         const c10d::ReduceScatterOptions& opts) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& opts) override;
  WorkPtr reduce_scatter_tensor_coalesced(
      Tensors& outputs, Tensors& inputs,
      const c10d::ReduceScatterOptions& opts) override;

  // Moves.
  WorkPtr broadcast(Tensors& tensors,
                    const c10d::BroadcastOptions& opts) override;
  WorkPtr allgather(Lists& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& opts) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_coalesced(Lists& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_into_tensor_coalesced(
      Tensors& outputs, Tensors& inputs,
      const c10d::AllgatherOptions& opts) override;
  WorkPtr gather(Lists& outputs, Tensors& inputs,
                 const c10d::GatherOptions& opts) override;
  WorkPtr scatter(Tensors& outputs, Lists& inputs,
                  const c10d::ScatterOptions& opts) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input,
                        std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits,
                        const c10d::AllToAllOptions& opts) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs,
                   const c10d::AllToAllOptions& opts) override;
  WorkPtr barrier(const c10d::BarrierOptions& opts) override;

  // Messages.
  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts,
                        bool wait_all_ranks) override;

  // Groups.
  bool supportsSplitting() const override { return true; }
  c10::intrusive_ptr<c10d::Backend> split(
      const c10::intrusive_ptr<c10d::Store>& store,
      const std::vector<int>& ranks,
      const c10::intrusive_ptr<c10d::Backend::Options>& options) override;

  // Memory: DDP's reducer asks for its buckets here.
  bool supportsTensorAlloc(c10::DeviceIndex index) override;
  at::Tensor allocateTensor(long size, at::TensorOptions options) override;
  std::shared_ptr<c10::Allocator> getMemAllocator() override;

  // The end. What is under way fails, here and on the other ranks.
  void abort() override;
  void shutdown() override;
  // The same for another reason than that the program destroyed the group.
  void end(const std::string& reason);
  c10d::ErrorType getError() override;

 private:
  // What an operation does, given the communicator and a call's time-out.
  using Body = std::function<Status(Communicator&, CallOptions)>;
  struct Launch {
    c10d::OpType type;
    const char* title;  // "rondo:" and the operation
    Tensors inputs;
    Tensors outputs;
    std::chrono::milliseconds timeout;
    bool async;
  };

  // nullptr: it is over, as PyTorch has it of a call that is not asynchronous.
  WorkPtr launch(Launch what, Body body);
  bool run_now(const Launch& what, const Body& body, const CallOptions& call);
  Status run_body(const Body& body, const CallOptions& call);
  std::shared_ptr<Mailbox> mailbox(const char* operation) const;
  WorkPtr receive(Tensors& tensors, int from, int tag, const char* title);
  void check_usable(const char* operation) const;
  void check_rank(const char* operation, int64_t rank) const;
  Duration timeout_or(std::chrono::milliseconds timeout) const;
  void close(const std::string& reason);
  Status wait_for_messages(std::chrono::milliseconds timeout, bool all);

  const c10::intrusive_ptr<Options> options_;
  const pid_t pid_;
  // Jobs of the runner use comm_ without the lock: it stays until they are
  // over.
  mutable std::mutex mutex_;
  Communicator comm_;                 // set with the lock held
  std::shared_ptr<Mailbox> mailbox_;  // guarded by it; none in a group of one
  const std::shared_ptr<Runner> runner_;
  std::atomic<uint64_t> sequence_{0};
  std::atomic<uint64_t> barriers_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> failed_{false};
};

}  // namespace rondo::torch
