// TensorQueue: a queue of elements between runs.
//
// An element is one tensor for each component of the queue. Elements leave in
// the order in which they came, or, of a shuffling queue, in random order as
// long as `min_after_dequeue` others stay behind to choose from.
//
// Kernels that put elements in wait for room, kernels that take some wait for
// elements; of each kind the first to come is the first to be served, and what
// it has put in or taken so far stays so while it waits for the rest. Once the
// queue is closed nothing new comes in; what waits to be put in still is, and
// whoever then wants more than there is gets kOutOfRange.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "rondo/kernels/cpu/philox.h"
#include "rondo/kernels/waiting.h"

namespace rondo {

struct TensorQueueOptions {
  int64_t capacity = -1;  // negative: without bound
  bool shuffle = false;
  int64_t min_after_dequeue = 0;
  int64_t seed = 0;  // both 0: another order every time
  int64_t seed2 = 0;
  std::vector<DType> types = {};
  std::vector<PartialShape> shapes = {};  // none: any
  bool operator==(const TensorQueueOptions&) const = default;
};

class RONDO_API TensorQueue final : public Waitable {
 public:
  using Element = std::vector<Tensor>;
  enum class Take {
    kOne,   // an element, each component as it is
    kMany,  // n elements, stacked by component
    kUpTo   // the same, but fewer where the queue is closed
  };

  // Before anything else: what the queue is. Called for every node that uses
  // it; an error when nodes do not agree.
  Status configure(const std::string& name, const TensorQueueOptions& options);

  // Both end by `done`. The elements fit the queue's types and shapes.
  void enqueue(KernelContext& context, std::vector<Element> elements,
               AsyncKernel::Done done);
  void dequeue(KernelContext& context, Take take, int64_t count,
               AsyncKernel::Done done);
  // What waits to be put in is cancelled too, where so asked.
  void close(bool cancel_pending_enqueues);
  bool closed() const;
  int64_t size() const;

 private:
  struct Putting;
  struct Taking;

  void list(const std::shared_ptr<WaitingKernel>& waiter,
            Ended& ended) override;
  void unlist(const std::shared_ptr<WaitingKernel>& waiter) override;
  void advance(Ended& ended) override;
  // Whether they did anything.
  bool put_in(Ended& ended);
  bool take_out(Ended& ended);
  bool has_room() const;
  bool may_take() const;
  // Nothing will come any more.
  bool drained() const { return closed_ && putting_.empty(); }
  Element take_next();
  void give_back(Taking& taking);
  Status closed_error() const;
  Status too_few_error(int64_t wanted) const;

  // All guarded by mutex_.
  std::string name_;
  TensorQueueOptions options_;
  bool configured_ = false;
  bool closed_ = false;
  std::deque<Element> elements_;
  std::deque<std::shared_ptr<Putting>> putting_;
  std::deque<std::shared_ptr<Taking>> taking_;
  RandomStream stream_;
  uint64_t draws_ = 0;
};

}  // namespace rondo
