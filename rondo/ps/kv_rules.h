// KvRules: what all servers of a job do alike.
#pragma once

#include <cstdint>

#include "rondo/ps/kv_mode.h"
#include "rondo/ps/kv_optimizer.h"

namespace rondo {

struct KvRules {
  KvMode mode = KvMode::kSync;
  int workers = 1;
  int backup = 0;
  int64_t staleness = 0;
  KvOptimizer optimizer;
};

}  // namespace rondo
