// HybridExchange: exchanges of graphs by a Communicator and servers that help
// it to reduce.
//
// Of each bucket that is large enough, the servers get a share and answer with
// its sum, or mean, while the ranks reduce the rest among themselves. All other
// exchanges are the ranks'.
//
// What ranks do among themselves goes bucket by bucket: on a thread of its own,
// or, where servers have no part in it and nothing is under way, on that of who
// begins it. What goes to servers waits for none of that, so that servers have
// something to do all the time: some buckets may be with them while the ranks
// are still at an earlier one.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rondo/base/mutex.h"
#include "rondo/ps/kv_worker.h"
#include "rondo/train/communicator_exchange.h"
#include "rondo/train/key_slots.h"
#include "rondo/train/server_share.h"
#include "rondo/train/task_line.h"

namespace rondo {

class HybridExchange final : public CommunicatorExchange {
 public:
  // `chooses` as CommunicatorExchange has it.
  HybridExchange(Communicator comm, bool chooses,
                 std::unique_ptr<KvWorker> servers, ServerShare share);

  Status all_reduce(std::span<Tensor> tensors,
                    const ReduceTerms& terms) override;
  void begin_all_reduce(std::vector<Tensor> tensors, const ReduceTerms& terms,
                        const Done& done) override;
  Status all_gather(Tensor& rows, DType wire, Allocator& allocator) override;
  Status all_gather_rows(Tensor& values, Tensor& indices,
                         Allocator& allocator) override;
  Status broadcast(std::span<Tensor> tensors, int root) override;
  void abort(const std::string& reason) override;

 private:
  struct Bucket;
  void push(const std::shared_ptr<Bucket>& bucket, const std::string& key);
  void reduce_rest(const std::shared_ptr<Bucket>& bucket);
  void reduce_rest_later(const std::shared_ptr<Bucket>& bucket);
  void end_part(const std::shared_ptr<Bucket>& bucket);
  void end(const std::shared_ptr<Bucket>& bucket);
  // Waits until there is room for one more bucket with servers; its number.
  int64_t next_served();
  // A key by which servers reduce as many elements.
  Result<std::string> key_for(const Tensor& piece, ReduceOp op, int64_t number);

  const std::unique_ptr<KvWorker> servers_;
  const ServerShare share_;
  // These three are of the thread that begins exchanges.
  KeySlots slots_;
  std::set<std::string> keys_;  // that servers have
  int64_t served_ = 0;          // buckets so far

  Mutex mutex_;
  CondVar changed_;
  std::set<int64_t> with_servers_ RONDO_GUARDED_BY(mutex_);  // numbers

  TaskLine copying_;      // to where buckets were copied from
  TaskLine among_ranks_;  // ends first
};

}  // namespace rondo
