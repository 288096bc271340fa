// TaskStatus: what a task has and does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/base/export.h"

namespace rondo {

struct RONDO_API TaskStatus {
  std::string task;
  std::vector<std::string> devices;  // full names
  int64_t graphs = 0;                // that masters of other tasks registered
  int64_t steps = 0;                 // that are not over
  int64_t sessions = 0;
  double up_seconds = 0;
};

}  // namespace rondo
