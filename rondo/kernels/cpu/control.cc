// Values that one part of a run keeps for another.
#include <atomic>
#include <unordered_map>

#include "rondo/kernels/cpu/register.h"
#include "rondo/kernels/cpu/variable.h"

namespace rondo {
namespace {

// The values of one name.
class StackedValues final : public Resource {
 public:
  std::mutex mutex;
  // By stack, then by index; guarded by mutex.
  std::unordered_map<int64_t, std::vector<Tensor>> values;
};

class StackNumbers final : public Resource {
 public:
  std::atomic<int64_t> next = 0;
};

Result<std::shared_ptr<StackedValues>> values_of(const Node& node,
                                                 KernelContext& c) {
  return c.run_resources().find_or_make<StackedValues>(
      node.attrs().get<std::string>("name"));
}

Status run_stack(const Node&, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(
      auto numbers, c.run_resources().find_or_make<StackNumbers>("stacks"));
  c.allocate(0, DType::kI64, {}).span<int64_t>()[0] = numbers->next++;
  return {};
}

Status run_write(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(auto stacked, values_of(node, c));
  const int64_t stack = index_at(c.input(0), 0);
  const auto at = static_cast<size_t>(index_at(c.input(1), 0));
  const std::lock_guard lock(stacked->mutex);
  std::vector<Tensor>& values = stacked->values[stack];
  if (values.size() <= at) values.resize(at + 1);
  values[at] = c.input(2);
  return {};
}

Status run_read(const Node& node, KernelContext& c) {
  RONDO_ASSIGN_OR_RETURN(auto stacked, values_of(node, c));
  const int64_t stack = index_at(c.input(0), 0);
  const auto at = static_cast<size_t>(index_at(c.input(1), 0));
  const std::lock_guard lock(stacked->mutex);
  const auto values = stacked->values.find(stack);
  // Each is read once.
  if (values != stacked->values.end() && at < values->second.size())
    c.set_output(0, std::move(values->second[at]));
  return {};
}

}  // namespace

void register_control_kernels(KernelRegistry& kernels) {
  kernels.add("NewStack", "cpu", from_function(run_stack));
  kernels.add("StackWrite", "cpu", from_function(run_write));
  kernels.add("StackRead", "cpu", from_function(run_read));
}

}  // namespace rondo
