// Work: an operation under way, as PyTorch's programs see it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "rondo/base/status.h"

namespace rondo::torch {

// Ended once, by whoever ran the operation: end() completes the future, whose
// callbacks run on that thread. They may wait for other collectives (see
// Runner), not for messages where that thread is the mailbox's.
class Work final : public c10d::Work {
 public:
  struct What {
    c10d::OpType type = c10d::OpType::UNKNOWN;
    const char* title = nullptr;  // in profiles
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> outputs;  // what the future gives
    uint64_t sequence = 0;
  };

  Work(int rank, What what);

  void end(const Status& status);
  // Who sent it; of messages, before end().
  void set_source(int rank) { source_.store(rank); }

  // In slices, so that Ctrl-C ends the wait (not the operation).
  bool wait(std::chrono::milliseconds timeout) override;
  int sourceRank() const override { return source_.load(); }
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  uint64_t getSequencenumber() const override { return sequence_; }

 private:
  const char* const title_;
  const std::vector<at::Tensor> outputs_;
  const uint64_t sequence_;
  const pid_t pid_;  // who runs it; a forked child has its copy only
  std::atomic<int> source_{-1};
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace rondo::torch
