// Queues: elements that runs put in and other runs, or the same, take out.
//
// A queue lives in the session's resources under its name; nodes that use it
// carry that name and what the queue is like as attributes. An element has one
// tensor for each component of the queue. Who puts an element into a full queue
// or takes one from an empty queue waits, and holds no thread meanwhile. All
// operations on it ask for the device whose scope the queue was made in.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct QueueOptions {
  int64_t capacity = -1;  // most elements; negative: without bound
  // Of the components, one each, or none: any. Must be known for the _many
  // forms.
  std::vector<PartialShape> shapes = {};
  std::string name = {};
  // Queues of one shared name are one queue; empty: this queue's own name.
  std::string shared_name = {};
};

// A handle: copies are the same queue. The graph must outlive it.
class RONDO_API QueueBase {
 public:
  // Puts an element in: a tensor for each component.
  Node& enqueue(const std::vector<Value>& components) const;
  // Puts the rows of these tensors in, as many elements as they have rows.
  Node& enqueue_many(const std::vector<Value>& components) const;
  // The components of the next element.
  std::vector<Value> dequeue() const;
  // n elements, each component stacked along a new first axis. When the queue
  // is closed with fewer left, kOutOfRange, and they stay.
  std::vector<Value> dequeue_many(Value n) const;
  std::vector<Value> dequeue_many(int64_t n) const;
  // The same, but gives those that are left when the queue is closed.
  std::vector<Value> dequeue_up_to(Value n) const;
  std::vector<Value> dequeue_up_to(int64_t n) const;
  // Nothing new comes in: kCancelled. What waits to be put in still is, unless
  // cancelled too. Who takes more than is left gets kOutOfRange.
  Node& close(bool cancel_pending_enqueues = false) const;
  Value size() const;       // i64
  Value is_closed() const;  // bool

  const std::string& name() const { return name_; }
  const std::vector<DType>& types() const { return types_; }
  Graph& graph() const { return *graph_; }

 protected:
  // `attrs` are those besides the name, the capacity and the components'.
  QueueBase(Graph& graph, std::vector<DType> types, QueueOptions options,
            std::string_view default_name, Attrs attrs);

 private:
  Node& add(std::string_view op, std::vector<Value> inputs,
            const Attrs& more = {}) const;

  Graph* graph_;
  std::string name_;
  std::string device_;
  std::vector<DType> types_;
  Attrs attrs_;
};

// First in, first out.
class RONDO_API FIFOQueue : public QueueBase {
 public:
  FIFOQueue(Graph& graph, std::vector<DType> types, QueueOptions options = {});
};

struct ShuffleQueueOptions {
  QueueOptions queue = {};
  // Elements that stay, to choose from, until the queue is closed.
  int64_t min_after_dequeue = 0;
  int64_t seed = 0;  // 0: none of its own
};

// Out in random order: the same for the same seed and the same calls.
class RONDO_API RandomShuffleQueue : public QueueBase {
 public:
  RandomShuffleQueue(Graph& graph, std::vector<DType> types,
                     const ShuffleQueueOptions& options = {});
};

}  // namespace rondo
