// Values that one part of a run keeps for another.
#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/variable.h"

namespace rondo {
namespace {

class Stack final : public Resource {
 public:
  std::mutex mutex;
  std::vector<Tensor> values;  // guarded by mutex
};

Result<std::shared_ptr<Stack>> stack_of(const Node& node, KernelContext& c) {
  return c.run_resources().find_or_make<Stack>(
      node.attrs().get<std::string>("stack"));
}

Status run_write(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(auto stack, stack_of(node, c));
  const auto at = static_cast<size_t>(index_at(c.input(0), 0));
  const std::lock_guard lock(stack->mutex);
  if (stack->values.size() <= at) stack->values.resize(at + 1);
  stack->values[at] = c.input(1);
  return {};
}

Status run_read(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(auto stack, stack_of(node, c));
  const auto at = static_cast<size_t>(index_at(c.input(0), 0));
  const std::lock_guard lock(stack->mutex);
  // Each is read once.
  if (at < stack->values.size()) c.set_output(0, std::move(stack->values[at]));
  return {};
}

}  // namespace

void register_control_kernels(KernelRegistry& kernels) {
  kernels.add("StackWrite", "cpu", from_function(run_write));
  kernels.add("StackRead", "cpu", from_function(run_read));
}

}  // namespace rondo
