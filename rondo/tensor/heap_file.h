// HeapFile: the memfd behind SharedHeap, and its mapping. Internal to tensor/.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/status.h"

namespace rondo {

// Not closed or unmapped by anybody: the heap lives as long as the process.
struct HeapFile {
  int fd = -1;
  char* base = nullptr;
  size_t bytes = 0;
  uint64_t nonce = 0;  // also in the first 8 bytes of the file
};

inline constexpr size_t kLeastHeapBytes = size_t{1} << 30;

// As many bytes as the machine has memory, in whole GiB, 1 GiB at least.
size_t wanted_heap_bytes();

// A sparse file of `bytes` bytes, or the largest half, quarter, ... of it, not
// below kLeastHeapBytes, that the limits of this process allow. The error says
// what refused.
Result<HeapFile> make_heap_file(size_t bytes);

}  // namespace rondo
