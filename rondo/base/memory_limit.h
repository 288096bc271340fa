// How much memory a process may take.
#pragma once

#include <string>

#include "rondo/base/export.h"

namespace rondo {

// Bytes: the machine's, or fewer where a control group (of a container, a
// service, a batch job) has a limit. `root` has /proc and /sys.
RONDO_API double memory_limit(const std::string& root = "");

}  // namespace rondo
