#include "rondo/graph/op_registry.h"

#include <algorithm>

#include "rondo/graph/ops/register.h"

namespace rondo {

OpRegistry& OpRegistry::process() {
  static OpRegistry registry;
  return registry;
}

OpRegistry::OpRegistry() { register_all_ops(*this); }

void OpRegistry::add(OpDef op) {
  if (op.name.empty() || !op.infer)
    throw Error(Code::kInvalidArgument,
                fmt::format("operation \"{}\" needs a name and an infer "
                            "function",
                            op.name));
  const std::lock_guard lock(mutex_);
  const std::string_view name = op.name;
  if (!ops_.emplace(name, std::make_unique<const OpDef>(std::move(op))).second)
    throw Error(Code::kInvalidArgument,
                fmt::format("there is an operation \"{}\" already", name));
}

const OpDef* OpRegistry::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto at = ops_.find(name);
  return at == ops_.end() ? nullptr : at->second.get();
}

std::vector<const OpDef*> OpRegistry::all() const {
  std::vector<const OpDef*> ops;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, op] : ops_) ops.push_back(op.get());
  }
  std::sort(ops.begin(), ops.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return ops;
}

}  // namespace rondo
