// CRC-32C (Castagnoli), by which files know that they were not damaged.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/export.h"

namespace rondo {

// Of `bytes` bytes behind those whose checksum is `before`; 0: from the start.
RONDO_API uint32_t crc32c(const void* data, size_t bytes, uint32_t before = 0);

}  // namespace rondo
