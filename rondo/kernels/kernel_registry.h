// KernelRegistry: which kernels there are, by operation and device type.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "rondo/kernels/kernel.h"

namespace rondo {

// Rondo's own kernels are there from the start; a library of the user's adds
// its own when it is loaded. Any thread.
class RONDO_API KernelRegistry {
 public:
  // `resources` are those that the kernel's runs will see. May throw
  // rondo::Error.
  using Make = std::function<std::unique_ptr<Kernel>(const Node& node,
                                                     Resources& resources)>;

  static KernelRegistry& process();

  // `device` is "cpu", "gpu". Throws when there is one already.
  void add(std::string_view op, std::string_view device, Make make);
  bool has(std::string_view op, std::string_view device) const;
  // An error when there is no such kernel, or when it refuses the node.
  Result<std::unique_ptr<Kernel>> make(const Node& node,
                                       std::string_view device,
                                       Resources& resources) const;

 private:
  KernelRegistry();
  const Make* find(std::string_view op, std::string_view device) const;

  mutable std::mutex mutex_;
  // By "device/op"; entries never change or go. Guarded by mutex_.
  std::map<std::string, Make, std::less<>> makers_;
};

// For operations whose kernel keeps nothing but its node's attributes:
// a function of (node, context).
using KernelFn = Status (*)(const Node& node, KernelContext& context);
RONDO_API KernelRegistry::Make from_function(KernelFn run,
                                             bool takes_layouts = false);
// K(const Node&) or K(const Node&, Resources&).
template <class K>
KernelRegistry::Make from_class() {
  return [](const Node& node, Resources& resources) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_constructible_v<K, const Node&, Resources&>)
      return std::make_unique<K>(node, resources);
    else
      return std::make_unique<K>(node);
  };
}

}  // namespace rondo
