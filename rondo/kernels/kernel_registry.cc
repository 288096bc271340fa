#include "rondo/kernels/kernel_registry.h"

#include "rondo/kernels/cpu/register.h"

namespace rondo {
namespace {

class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(const Node& node, KernelFn fn, bool layouts)
      : node_(node), fn_(fn), layouts_(layouts) {}
  Status run(KernelContext& context) override { return fn_(node_, context); }
  bool takes_layouts() const override { return layouts_; }

 private:
  const Node& node_;  // of the step's graph, which outlives its kernels
  const KernelFn fn_;
  const bool layouts_;
};

std::string key(std::string_view op, std::string_view device) {
  return fmt::format("{}/{}", device, op);
}

}  // namespace

KernelRegistry& KernelRegistry::process() {
  static KernelRegistry registry;
  return registry;
}

KernelRegistry::KernelRegistry() { register_cpu_kernels(*this); }

void KernelRegistry::add(std::string_view op, std::string_view device,
                         Make make) {
  const std::lock_guard lock(mutex_);
  if (!makers_.emplace(key(op, device), std::move(make)).second)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("there is a kernel of {} for {} already", op, device));
}

const KernelRegistry::Make* KernelRegistry::find(
    std::string_view op, std::string_view device) const {
  const std::lock_guard lock(mutex_);
  const auto at = makers_.find(key(op, device));
  return at == makers_.end() ? nullptr : &at->second;
}

bool KernelRegistry::has(std::string_view op, std::string_view device) const {
  return find(op, device) != nullptr;
}

Result<std::unique_ptr<Kernel>> KernelRegistry::make(
    const Node& node, std::string_view device, Resources& resources) const {
  const Make* maker = find(node.op().name, device);
  if (!maker)
    return error(Code::kInvalidArgument, "{}: {} has no kernel for it",
                 node.describe(), device);
  try {
    return (*maker)(node, resources);
  } catch (const Error& e) {
    return error(e.code(), "{}: {}", node.describe(), e.what());
  }
}

KernelRegistry::Make from_function(KernelFn run, bool takes_layouts) {
  return [=](const Node& node, Resources&) -> std::unique_ptr<Kernel> {
    return std::make_unique<FunctionKernel>(node, run, takes_layouts);
  };
}

}  // namespace rondo
