#include "rondo/graph/ops/critical_section.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/waiting_ops.h"

namespace rondo {
namespace {

Status infer_acquire(InferContext& c) {
  c.output(DType::kI64, PartialShape::scalar());
  return {};
}

Status infer_release(InferContext& c) { return c.want_scalar(0, "lock"); }

}  // namespace

void register_critical_section_ops(OpRegistry& ops) {
  const std::vector<AttrSpec> attrs = {
      {"mutex", std::string(), true, "the lock's name"}};
  ops.add({.name = "MutexAcquire",
           .doc = "Takes a lock, once it is free and all that asked before "
                  "have had it. The run holds it until MutexRelease, or until "
                  "it ends.",
           .outputs = {"lock"},
           .attrs = attrs,
           .infer = infer_acquire,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful,
           .waits = true});
  ops.add({.name = "MutexRelease",
           .doc = "Lets go a lock that MutexAcquire took in the same run.",
           .inputs = {{"lock", TypeSet::kIndex}},
           .attrs = attrs,
           .infer = infer_release,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
}

CriticalSection::CriticalSection(Graph& graph, std::string_view name,
                                 std::string_view shared_name)
    : graph_(&graph), device_(graph.device_scope()) {
  const std::string own =
      graph.unique_name(name.empty() ? "critical_section" : name);
  name_ = shared_name.empty() ? own : std::string(shared_name);
}

Node& CriticalSection::add(std::string_view op,
                           std::vector<Value> inputs) const {
  const std::string_view verb = op.substr(std::string_view("Mutex").size());
  Node& node =
      graph_->add({.op = op,
                   .inputs = std::move(inputs),
                   .attrs = {{"mutex", name_}},
                   .name = fmt::format("{}_{}", last_part(name_), verb)});
  node.set_device(device_);
  return node;
}

Value CriticalSection::acquire() const {
  return add("MutexAcquire", {}).output();
}
Node& CriticalSection::release(Value lock) const {
  return add("MutexRelease", {lock});
}

std::vector<Value> CriticalSection::execute(
    const std::function<std::vector<Value>()>& body) {
  if (*within_)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("the critical section \"{}\" is entered within itself, "
                    "which would wait for ever",
                    name_));
  const Value lock = acquire();
  std::vector<Value> results;
  *within_ = true;
  try {
    const ControlScope held(*graph_, {lock.node});
    for (const Value& value : body()) results.push_back(identity(value));
  } catch (...) {
    *within_ = false;
    throw;
  }
  *within_ = false;
  if (results.empty())
    throw Error(Code::kInvalidArgument,
                fmt::format("the body of the critical section \"{}\" gives "
                            "nothing that could be run",
                            name_));
  Node& released = release(lock);
  for (const Value& result : results) released.add_control_input(*result.node);
  // Who uses a result makes the lock be let go.
  const ControlScope after(*graph_, {&released});
  for (Value& result : results) result = identity(result);
  return results;
}

}  // namespace rondo
