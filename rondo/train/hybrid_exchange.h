// HybridExchange: exchanges of graphs by a Communicator and servers that help
// it to reduce.
//
// Of each bucket, the servers get a share and answer with its sum, or mean,
// while the ranks reduce the rest among themselves. All other exchanges are
// the ranks'.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "rondo/ps/kv_worker.h"
#include "rondo/train/communicator_exchange.h"

namespace rondo {

class HybridExchange final : public CommunicatorExchange {
 public:
  // `chooses` as CommunicatorExchange has it.
  HybridExchange(Communicator comm, bool chooses,
                 std::unique_ptr<KvWorker> servers, double server_share)
      : CommunicatorExchange(std::move(comm), chooses),
        servers_(std::move(servers)),
        server_share_(server_share) {}

  void abort(const std::string& reason) override;

 private:
  Status reduce(std::span<Tensor> tensors, ReduceOp op) override;
  // The key by which servers reduce as many elements: all ranks come to it with
  // the same exchange, so the next one of that size may have it again.
  Result<std::string> key_for(const Tensor& piece, ReduceOp op);

  const std::unique_ptr<KvWorker> servers_;
  const double server_share_;
  std::set<std::string> keys_;  // that servers have; of the exchanges' thread
};

}  // namespace rondo
