// Which operations are exchanges with other processes.
#pragma once

#include <string_view>

#include "rondo/base/export.h"

namespace rondo {

// Whether an operation of a training step, by its name, waits for other ranks
// or for servers.
RONDO_API bool is_exchange(std::string_view op);

}  // namespace rondo
