#include "rondo/train/hybrid_exchange.h"

#include <atomic>

#include "rondo/base/attempt.h"
#include "rondo/train/hybrid_split.h"

namespace rondo {
namespace {

// Buckets that may be with servers at once. Enough that these never wait for
// the ranks, who are some buckets behind; each may have a copy of its elements.
constexpr int64_t kMostServed = 8;

}  // namespace

// One that is under way.
struct HybridExchange::Bucket {
  std::vector<Tensor> tensors;
  ReduceOp op = ReduceOp::kAvg;
  Packed packed;
  HybridSplit split;
  int64_t number = -1;  // among those that servers help with; -1: it is not
  Done done;
  // The ranks', the servers', and that of who begins it: the last ends it.
  std::atomic<int> parts = 3;
  Status among_ranks, by_servers;
};

HybridExchange::HybridExchange(Communicator comm, bool chooses,
                               std::unique_ptr<KvWorker> servers,
                               ServerShare share)
    : CommunicatorExchange(std::move(comm), chooses),
      servers_(std::move(servers)),
      share_(share),
      slots_(kMostServed) {}

void HybridExchange::abort(const std::string& reason) {
  CommunicatorExchange::abort(reason);
  servers_->abort(reason);
}

int64_t HybridExchange::next_served() {
  const int64_t number = served_++;
  const MutexLock lock(mutex_);
  while (!with_servers_.empty() &&
         *with_servers_.begin() <= number - kMostServed)
    changed_.wait(mutex_);
  with_servers_.insert(number);
  return number;
}

Result<std::string> HybridExchange::key_for(const Tensor& piece, ReduceOp op,
                                            int64_t number) {
  const std::string kind = fmt::format("{} of {} {}", name_of(op),
                                       piece.count(), name_of(piece.dtype()));
  std::string name = fmt::format("{}, {}", kind, slots_.take(kind, number));
  if (keys_.contains(name)) return name;
  RONDO_RETURN_IF_ERROR(servers_->add({{.name = name,
                                        .dtype = piece.dtype(),
                                        .shape = piece.shape(),
                                        .reduces = op}}));
  keys_.insert(name);
  return name;
}

Status HybridExchange::all_reduce(std::span<Tensor> tensors,
                                  const ReduceTerms& terms) {
  const KvWork work(1, {});
  begin_all_reduce({tensors.begin(), tensors.end()}, terms,
                   [work](const Status& status) { work.finish_part(status); });
  return work.wait(Deadline::never());
}

void HybridExchange::begin_all_reduce(std::vector<Tensor> tensors,
                                      const ReduceTerms& terms,
                                      const Done& done) {
  std::shared_ptr<Bucket> bucket;
  std::string key;
  const Status status = attempt([&]() -> Status {
    bucket = std::make_shared<Bucket>();
    bucket->tensors = std::move(tensors);
    bucket->op = op_of(terms);
    bucket->done = done;
    bucket->packed = pack(bucket->tensors, terms);
    std::vector<Tensor>& all = bucket->packed.tensors;
    int64_t count = 0;
    for (const Tensor& tensor : all) count += tensor.count();
    const int64_t served = served_elements(count, all[0].dtype(), share_);
    bucket->split = split_bucket(all, served);
    if (served == 0) return {};
    bucket->number = next_served();
    RONDO_ASSIGN_OR_RETURN(
        key, key_for(bucket->split.servers, bucket->op, bucket->number));
    return {};
  });
  if (bucket == nullptr) return done(status);
  if (!status.ok()) {
    bucket->among_ranks = status;
    bucket->parts = 1;
  } else {
    const bool served = bucket->number >= 0;
    if (served)
      push(bucket, key);
    else
      --bucket->parts;
    // Another thread is woken up only for what others can run beside.
    if (!served && among_ranks_.idle())
      reduce_rest(bucket);
    else
      reduce_rest_later(bucket);
  }
  end_part(bucket);
}

void HybridExchange::reduce_rest_later(const std::shared_ptr<Bucket>& bucket) {
  const Status added = attempt([&]() -> Status {
    among_ranks_.add([this, bucket] { reduce_rest(bucket); });
    return {};
  });
  if (added.ok()) return;
  bucket->among_ranks = added;
  servers_->abort(added.message());
  end_part(bucket);
}

void HybridExchange::push(const std::shared_ptr<Bucket>& bucket,
                          const std::string& key) {
  const Status pushed = attempt([&]() -> Status {
    const Tensor& piece = bucket->split.servers;
    servers_->push_pull(key, piece, piece,
                        {.done = [this, bucket](const Status& status) {
                          bucket->by_servers = status;
                          end_part(bucket);
                        }});
    return {};
  });
  // There was no memory for all of it, and nobody will call `done`.
  if (pushed.ok()) return;
  bucket->by_servers = pushed;
  servers_->abort(pushed.message());
  end_part(bucket);
}

// One bucket at a time: on the line's thread, or on that of who begins it while
// the line is idle.
void HybridExchange::reduce_rest(const std::shared_ptr<Bucket>& bucket) {
  Status& status = bucket->among_ranks;
  status = attempt(
      [&] { return reduce_among_ranks(bucket->split.ranks, bucket->op); });
  // Servers write into memory of the step's, so their part has to be over.
  if (!status.ok()) servers_->abort(status.message());
  end_part(bucket);
}

// On any thread. That which reads a server's answers sends the next parts with
// each of them, and the ranks' has the next bucket to begin: while they copied,
// a server, or the ranks' links, would have nothing to do.
void HybridExchange::end_part(const std::shared_ptr<Bucket>& bucket) {
  if (--bucket->parts > 0) return;
  const bool copies =
      bucket->number >= 0 && (bucket->packed.copied || bucket->split.copied);
  const auto later = [&]() -> Status {
    copying_.add([this, bucket] { end(bucket); });
    return {};
  };
  if (!copies || !attempt(later).ok()) end(bucket);
}

// Behind `done` this may be gone.
void HybridExchange::end(const std::shared_ptr<Bucket>& bucket) {
  Status status = bucket->among_ranks;
  if (status.ok()) status = bucket->by_servers;
  if (status.ok())
    status = attempt([&]() -> Status {
      put_back(bucket->split, bucket->packed.tensors);
      unpack(bucket->packed, bucket->tensors);
      return {};
    });
  if (bucket->number >= 0) {
    const MutexLock lock(mutex_);
    with_servers_.erase(bucket->number);
    changed_.notify_all();
  }
  // Whoever needs the tensors next may take their memory if it has them alone.
  bucket->tensors.clear();
  bucket->packed = {};
  bucket->split = {};
  bucket->done(status);
}

Status HybridExchange::all_gather(Tensor& rows, DType wire,
                                  Allocator& allocator) {
  among_ranks_.drain();
  return CommunicatorExchange::all_gather(rows, wire, allocator);
}

Status HybridExchange::all_gather_rows(Tensor& values, Tensor& indices,
                                       Allocator& allocator) {
  among_ranks_.drain();
  return CommunicatorExchange::all_gather_rows(values, indices, allocator);
}

Status HybridExchange::broadcast(std::span<Tensor> tensors, int root) {
  among_ranks_.drain();
  return CommunicatorExchange::broadcast(tensors, root);
}

}  // namespace rondo
