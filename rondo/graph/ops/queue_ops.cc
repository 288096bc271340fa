// The operations on queues: types, shapes and attributes.
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/waiting_ops.h"

namespace rondo {
namespace {

using Types = std::vector<DType>;
using Shapes = std::vector<PartialShape>;

PartialShape shape_of_component(InferContext& c, size_t i) {
  const auto& shapes = c.attr<Shapes>("shapes");
  return shapes.empty() ? PartialShape() : shapes[i];
}

PartialShape with_rows(const PartialShape& shape, int64_t rows) {
  if (!shape.has_rank()) return shape;
  Ints extents(shape.extents().begin(), shape.extents().end());
  extents.insert(extents.begin(), rows);
  return PartialShape(extents);
}

Status check_components(InferContext& c, bool many) {
  RONDO_RETURN_IF_ERROR(check_queue(c));
  const auto& types = c.attr<Types>("component_types");
  if (c.inputs() != static_cast<int>(types.size()))
    return error(Code::kInvalidArgument,
                 "the queue \"{}\" has {} components, not {}",
                 c.attr<std::string>("queue"), types.size(), c.inputs());
  PartialShape rows = PartialShape::of_rank(1);
  for (size_t k = 0; k < types.size(); ++k) {
    const auto i = static_cast<int>(k);
    if (c.dtype(i) != types[k])
      return error(Code::kInvalidArgument,
                   "component {} of the queue \"{}\" has type {}, not {}", i,
                   c.attr<std::string>("queue"), name_of(types[k]),
                   name_of(c.dtype(i)));
    PartialShape wanted = shape_of_component(c, k);
    if (many) wanted = with_rows(wanted, kAny);
    if (!wanted.compatible(c.shape(i)))
      return error(Code::kInvalidArgument,
                   "component {} of the queue \"{}\" has shape {}, not {}", i,
                   c.attr<std::string>("queue"), wanted.to_string(),
                   c.shape(i).to_string());
    if (!many || !c.shape(i).has_rank()) continue;
    if (c.shape(i).rank() == 0)
      return error(Code::kInvalidArgument,
                   "component {} is a scalar, which has no rows", i);
    auto both = merge(rows, PartialShape{c.shape(i)[0]});
    if (!both.ok())
      return error(Code::kInvalidArgument,
                   "its components differ in their number of rows: {} and {}",
                   rows[0], c.shape(i)[0]);
    rows = *both;
  }
  return {};
}

Status infer_enqueue(InferContext& c) { return check_components(c, false); }
Status infer_enqueue_many(InferContext& c) { return check_components(c, true); }

Status infer_dequeue(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_queue(c));
  const auto& types = c.attr<Types>("component_types");
  for (size_t i = 0; i < types.size(); ++i)
    c.output(types[i], shape_of_component(c, i));
  return {};
}

Status infer_stacked(InferContext& c, bool exactly) {
  RONDO_RETURN_IF_ERROR(check_queue(c));
  RONDO_RETURN_IF_ERROR(c.want_scalar(0, "n"));
  const auto n = c.constant_ints(0);
  const int64_t count = n && n->size() == 1 ? (*n)[0] : kAny;
  if (n && count < 0)
    return error(Code::kInvalidArgument, "n is {}: expected 0 or more", count);
  const auto& types = c.attr<Types>("component_types");
  for (size_t i = 0; i < types.size(); ++i) {
    const PartialShape shape = shape_of_component(c, i);
    if (!shape.known())
      return error(Code::kInvalidArgument,
                   "component {} of the queue \"{}\" has shape {}: several "
                   "elements can be taken at once only where the queue was "
                   "made with shapes that are all known",
                   i, c.attr<std::string>("queue"), shape.to_string());
    c.output(types[i], with_rows(shape, exactly ? count : kAny));
  }
  return {};
}

Status infer_dequeue_many(InferContext& c) { return infer_stacked(c, true); }
Status infer_dequeue_up_to(InferContext& c) { return infer_stacked(c, false); }

Status infer_size(InferContext& c) {
  c.output(DType::kI64, PartialShape::scalar());
  return check_queue(c);
}

Status infer_is_closed(InferContext& c) {
  c.output(DType::kBool, PartialShape::scalar());
  return check_queue(c);
}

std::vector<AttrSpec> queue_attrs() {
  return {{"queue", std::string(), true, "the queue's name"},
          {"capacity", int64_t{-1}, false,
           "most elements; negative: without bound"},
          {"component_types", Types(), true, "types of an element's tensors"},
          {"shapes", Shapes(), false,
           "their shapes; none: any. Must be known to take several at once"},
          {"shuffle", false, false, "whether they come out in random order"},
          {"min_after_dequeue", int64_t{0}, false,
           "elements that stay, to choose from, until the queue is closed"},
          {"seed", int64_t{0}, false,
           "with seed2, which random order; both 0: another one every time"},
          {"seed2", int64_t{0}, false, "see seed"}};
}

std::vector<InputSpec> components() {
  return {{"components", TypeSet::kAnyType, true, 0}};
}

void add_enqueues(OpRegistry& ops) {
  ops.add({.name = "QueueEnqueue",
           .doc = "Puts an element into a queue: a tensor for each component. "
                  "Waits while the queue is full; fails when it is closed.",
           .inputs = components(),
           .attrs = queue_attrs(),
           .infer = infer_enqueue,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
  ops.add({.name = "QueueEnqueueMany",
           .doc = "Puts the rows of its inputs into a queue, as many elements "
                  "as they have rows. Waits while the queue is full; fails "
                  "when it is closed.",
           .inputs = components(),
           .attrs = queue_attrs(),
           .infer = infer_enqueue_many,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
}

void add_dequeue(OpRegistry& ops, std::string_view name, std::string_view doc,
                 InferFn infer, bool counted) {
  std::vector<InputSpec> inputs;
  if (counted) inputs.push_back({"n", TypeSet::kIndex});
  ops.add({.name = name,
           .doc = doc,
           .inputs = inputs,
           .outputs = {"components"},
           .attrs = queue_attrs(),
           .infer = infer,
           .constant = true,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
}

}  // namespace

Status check_queue(InferContext& c) {
  const auto& types = c.attr<Types>("component_types");
  const auto& shapes = c.attr<Shapes>("shapes");
  const auto capacity = c.attr<int64_t>("capacity");
  const auto stay = c.attr<int64_t>("min_after_dequeue");
  if (types.empty())
    return error(Code::kInvalidArgument, "its queue has no components");
  if (!shapes.empty() && shapes.size() != types.size())
    return error(Code::kInvalidArgument,
                 "its queue has {} types and {} shapes: expected as many, or "
                 "no shapes",
                 types.size(), shapes.size());
  if (capacity == 0)
    return error(Code::kInvalidArgument,
                 "the capacity of its queue is 0; negative is without bound");
  if (stay < 0 || (capacity > 0 && stay >= capacity))
    return error(Code::kInvalidArgument,
                 "min_after_dequeue of its queue is {}, expected 0 or more and "
                 "less than its capacity {}",
                 stay, capacity);
  return {};
}

void register_queue_ops(OpRegistry& ops) {
  add_enqueues(ops);
  add_dequeue(ops, "QueueDequeue",
              "Takes an element from a queue: a tensor for each component. "
              "Waits for one; fails when the queue is closed and empty.",
              infer_dequeue, false);
  add_dequeue(ops, "QueueDequeueMany",
              "Takes n elements from a queue, each component stacked along a "
              "new first axis. Waits for them; fails when the queue is closed "
              "with fewer, which then stay.",
              infer_dequeue_many, true);
  add_dequeue(ops, "QueueDequeueUpTo",
              "Takes n elements from a queue as QueueDequeueMany does, but "
              "fewer, though at least one, when it is closed.",
              infer_dequeue_up_to, true);
  auto attrs = queue_attrs();
  attrs.push_back({"cancel_pending_enqueues", false, false,
                   "whether those that wait to put elements in fail"});
  ops.add({.name = "QueueClose",
           .doc = "Closes a queue: nothing new comes in, and who takes more "
                  "than is left fails.",
           .attrs = attrs,
           .infer = check_queue,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "QueueSize",
           .doc = "The number of elements in a queue.",
           .outputs = {"size"},
           .attrs = queue_attrs(),
           .infer = infer_size,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "QueueIsClosed",
           .doc = "Whether a queue is closed.",
           .outputs = {"closed"},
           .attrs = queue_attrs(),
           .infer = infer_is_closed,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  register_accumulator_ops(ops);
  register_critical_section_ops(ops);
  register_exchange_ops(ops);
  register_run_ops(ops);
  register_parameter_ops(ops);
}

}  // namespace rondo
