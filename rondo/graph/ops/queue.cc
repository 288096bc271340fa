#include "rondo/graph/ops/queue.h"

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/waiting_ops.h"

namespace rondo {

QueueBase::QueueBase(Graph& graph, std::vector<DType> types,
                     QueueOptions options, std::string_view default_name,
                     Attrs attrs)
    : graph_(&graph),
      device_(graph.device_scope()),
      types_(std::move(types)),
      attrs_(std::move(attrs)) {
  const std::string own = graph.unique_name(
      options.name.empty() ? default_name : std::string_view(options.name));
  name_ = options.shared_name.empty() ? own : options.shared_name;
  attrs_.set("queue", name_);
  attrs_.set("capacity", options.capacity);
  attrs_.set("component_types", types_);
  attrs_.set("shapes", std::move(options.shapes));
  // What makes no sense is said here, not where the queue is first used.
  OpRegistry& ops = OpRegistry::process();
  Attrs all = attrs_;
  for (const AttrSpec& spec : ops.find("QueueSize")->attrs)
    if (!all.has(spec.name)) all.set(std::string(spec.name), spec.value);
  InferContext context({}, all);
  check_queue(context).with_context("the queue \"" + name_ + "\"").value();
}

Node& QueueBase::add(std::string_view op, std::vector<Value> inputs,
                     const Attrs& more) const {
  Attrs attrs = attrs_;
  for (const Attrs::Item& item : more.items())
    attrs.set(item.first, item.second);
  const std::string_view verb = op.substr(std::string_view("Queue").size());
  Node& node =
      graph_->add({.op = op,
                   .inputs = std::move(inputs),
                   .attrs = std::move(attrs),
                   .name = fmt::format("{}_{}", last_part(name_), verb)});
  node.set_device(device_);
  return node;
}

Node& QueueBase::enqueue(const std::vector<Value>& components) const {
  return add("QueueEnqueue", components);
}
Node& QueueBase::enqueue_many(const std::vector<Value>& components) const {
  return add("QueueEnqueueMany", components);
}
std::vector<Value> QueueBase::dequeue() const {
  return array::outputs_of(add("QueueDequeue", {}));
}
std::vector<Value> QueueBase::dequeue_many(Value n) const {
  return array::outputs_of(add("QueueDequeueMany", {n}));
}
std::vector<Value> QueueBase::dequeue_many(int64_t n) const {
  return dequeue_many(constant(*graph_, static_cast<double>(n), DType::kI64));
}
std::vector<Value> QueueBase::dequeue_up_to(Value n) const {
  return array::outputs_of(add("QueueDequeueUpTo", {n}));
}
std::vector<Value> QueueBase::dequeue_up_to(int64_t n) const {
  return dequeue_up_to(constant(*graph_, static_cast<double>(n), DType::kI64));
}
Node& QueueBase::close(bool cancel_pending_enqueues) const {
  return add("QueueClose", {},
             {{"cancel_pending_enqueues", cancel_pending_enqueues}});
}
Value QueueBase::size() const { return add("QueueSize", {}).output(); }
Value QueueBase::is_closed() const { return add("QueueIsClosed", {}).output(); }

FIFOQueue::FIFOQueue(Graph& graph, std::vector<DType> types,
                     QueueOptions options)
    : QueueBase(graph, std::move(types), std::move(options), "fifo_queue", {}) {
}

namespace {

Attrs shuffle_attrs(const Graph& graph, const ShuffleQueueOptions& options) {
  const RandomSeeds seeds = random_seeds(graph, options.seed);
  return {{"shuffle", true},
          {"min_after_dequeue", options.min_after_dequeue},
          {"seed", seeds.seed},
          {"seed2", seeds.seed2}};
}

}  // namespace

RandomShuffleQueue::RandomShuffleQueue(Graph& graph, std::vector<DType> types,
                                       const ShuffleQueueOptions& options)
    : QueueBase(graph, std::move(types), options.queue, "random_shuffle_queue",
                shuffle_attrs(graph, options)) {}

}  // namespace rondo
