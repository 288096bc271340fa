#include "rondo/graph/placement/device_info.h"

namespace rondo {

DeviceLink default_link(const DeviceInfo& from, const DeviceInfo& to) {
  if (from.name == to.name) return {0, 1e15};
  const bool same_process =
      from.name.job == to.name.job && from.name.task == to.name.task;
  if (same_process && from.name.type == to.name.type && from.name.type == "cpu")
    return {1e-5, 1e12};
  if (same_process) return {2e-5, 1e10};
  if (!from.host.empty() && from.host == to.host) return {5e-5, 5e9};
  return {1.5e-4, 1.2e9};
}

}  // namespace rondo
