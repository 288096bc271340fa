// ClusterSessionOptions: how a session uses a cluster.
#pragma once

#include <string>
#include <vector>

#include "rondo/base/export.h"
#include "rondo/runtime/placement_kind.h"

namespace rondo {

struct RONDO_API ClusterSessionOptions {
  // Partial names of devices ("/job:ps", "/job:worker/task:0"): tasks that
  // match none take no part, and need not be up. None: all tasks do.
  std::vector<std::string> device_filters;
  // As SessionOptions has them.
  PlacementKind placement = PlacementKind::kConstraints;
  bool allow_soft_placement = false;
  bool log_device_placement = false;
  bool bf16_transfers = false;
};

}  // namespace rondo
