// KvParameters: what graphs have on parameter servers, by a KvWorker.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "rondo/collectives/communicator.h"
#include "rondo/kernels/parameters.h"
#include "rondo/ps/kv_worker.h"
#include "rondo/train/communicator_exchange.h"

namespace rondo {

class KvParameters final : public Parameters {
 public:
  // `together`: ranks make their steps at the same time, so one that gives up
  // ends those of all.
  KvParameters(std::unique_ptr<KvWorker> worker, Communicator comm,
               bool together)
      : worker_(std::move(worker)),
        comm_(std::move(comm)),
        together_(together) {}
  ~KvParameters() override;

  Status set(std::vector<Parameter> parameters) override;
  void push_pull(const std::string& key, const Tensor& gradient,
                 double learning_rate, const Tensor& into, Done done) override;
  void push_pull_rows(const std::string& key, const Rows& gradient,
                      double learning_rate, std::shared_ptr<Rows> changed,
                      Done done) override;
  void forget_rows(const std::string& key) override;
  void pull_slots(const std::string& key, std::vector<Tensor> into,
                  Done done) override;
  void give_up(const std::string& reason) override;
  // Says that this rank pushes no more, unless it gave up. Does not wait for
  // longer than until the deadline.
  void leave(Deadline deadline = Deadline::never());
  // For a while nobody's steps wait for this rank. resume() ends it, on all
  // ranks together.
  Status pause();
  Status resume();

 private:
  Status add(const std::vector<Parameter>& parameters);
  Status set_all(const std::vector<Parameter>& parameters);

  const std::unique_ptr<KvWorker> worker_;
  Communicator comm_;
  const bool together_;
  std::map<std::string, Key> known_;  // of set(), one thread at a time
  std::mutex mutex_;
  bool over_ = false;  // guarded by mutex_
};

// Exchanges of a group that has servers.
class ServerExchange final : public CommunicatorExchange {
 public:
  ServerExchange(Communicator comm, std::shared_ptr<Parameters> servers)
      : CommunicatorExchange(std::move(comm)), servers_(std::move(servers)) {}
  std::shared_ptr<Parameters> parameters() override { return servers_; }

 private:
  const std::shared_ptr<Parameters> servers_;
};

}  // namespace rondo
