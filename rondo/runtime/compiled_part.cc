#include "rondo/runtime/compiled_part.h"

#include "rondo/base/attempt.h"
#include "rondo/graph/passes/passes.h"
#include "rondo/kernels/kernel_registry.h"
#include "rondo/kernels/layout.h"

namespace rondo {
namespace {

Result<std::vector<Tensor>> evaluate(const Node& node,
                                     std::span<const Tensor> constants,
                                     Allocator& allocator,
                                     Containers& containers) {
  Resources& resources = containers.of(node);
  RONDO_ASSIGN_OR_RETURN(
      auto kernel, KernelRegistry::process().make(node, "cpu", resources));
  std::vector<Tensor> inputs(constants.begin(), constants.end());
  std::vector<Tensor> outputs(node.outputs().size());
  Cancellation cancellation;
  Resources of_run;
  KernelContext context(allocator, resources, of_run, cancellation, inputs,
                        outputs);
  // What it throws the step says again, and of which node.
  RONDO_RETURN_IF_ERROR(attempt([&] { return kernel->run(context); }));
  for (Tensor& output : outputs)
    output = in_layout(allocator, output, Layout::kRowMajor);
  return outputs;
}

void improve(Subgraph& part, Allocator& allocator, Containers& containers) {
  simplify(part);
  fold_constants(part,
                 [&](const Node& node, std::span<const Tensor> constants) {
                   return evaluate(node, constants, allocator, containers);
                 });
  share_common(part);
  join_products(part);
  shrink_pool_gradients(part);
  fuse_epilogues(part);
  fuse_chains(part);
}

}  // namespace

Result<std::shared_ptr<CompiledPart>> CompiledPart::make(
    Subgraph subgraph, Device& device, Containers& containers) {
  try {
    BufferPool on_host;
    improve(subgraph, device.in_host_memory() ? device.allocator() : on_host,
            containers);
    order_changes(subgraph);
    RONDO_ASSIGN_OR_RETURN(auto plan,
                           compile(std::move(subgraph), device, containers));
    return std::shared_ptr<CompiledPart>(
        new CompiledPart(std::move(plan), device, containers));
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
}

std::unique_ptr<Step> CompiledPart::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto step = std::move(idle_.back());
      idle_.pop_back();
      return step;
    }
  }
  return std::make_unique<Step>(*plan_, device_, resources_);
}

void CompiledPart::give_back(std::unique_ptr<Step> step) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(step));
}

}  // namespace rondo
