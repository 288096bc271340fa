// The two ways to compute a CRC-32C: by the processor's own instruction, where
// there is one, and by tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rondo {

// The checksum's register behind `bytes` bytes, from what it was before them.
using Crc32cLoop = uint32_t (*)(const unsigned char* at, size_t bytes,
                                uint32_t crc);
// nullptr: this processor has no such instruction.
Crc32cLoop hardware_crc32c();
uint32_t table_crc32c(const unsigned char* at, size_t bytes, uint32_t crc);

}  // namespace rondo
