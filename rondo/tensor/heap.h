// SharedHeap: the process's memory for tensors, in one file that same-host
// peers can map.
//
// The heap is one large sparse memfd (as many bytes as the machine has memory;
// pages exist once touched), mapped once at `base()`. A peer that opens
// /proc/<pid>/fd/<fd()> and maps it whole sees every buffer, past and future,
// at the same offset. Where a memfd cannot be had or mapped (seccomp,
// RLIMIT_FSIZE, RLIMIT_AS), the heap hands out private memory and shareable()
// is false.
//
// A process made by fork() gets a heap of its own for what it allocates.
// Buffers from before the fork stay readable in it, and what it writes to them
// is its own; until it does, it sees what the parent writes.
//
// Thread-safe. One per process, made on first use, never destroyed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rondo/base/status.h"

namespace rondo {

class RONDO_API SharedHeap {
 public:
  static SharedHeap& process();

  // 64-byte-aligned (page-aligned from 64 KiB up) memory of `bytes` bytes; its
  // contents are unspecified. nullptr when there is none left. 0 bytes gives a
  // unique pointer too.
  void* allocate(size_t bytes);
  // Gives back what allocate returned. Freed memory is kept for reuse up to a
  // bound (1 GiB), beyond which its pages go back to the system. nullptr is
  // fine.
  void free(void* p);
  // How often allocate was called: what runs again and again can show that it
  // takes nothing more.
  uint64_t allocations() const {
    return allocations_.load(std::memory_order_relaxed);
  }

  // Whether peers can map this heap.
  bool shareable() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  char* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  // A random number written at offset 0 of the file: a peer that opened the
  // right file finds it there.
  uint64_t nonce() const { return nonce_; }
  // The offset of [p, p+bytes) in the file, when all of it lies in the heap.
  std::optional<uint64_t> offset_of(const void* p, size_t bytes) const {
    const auto at = reinterpret_cast<uintptr_t>(p);
    const auto low = reinterpret_cast<uintptr_t>(base_);
    if (fd_ < 0 || at < low || at - low >= bytes_ ||
        bytes > bytes_ - (at - low))
      return std::nullopt;
    return at - low;
  }

 private:
  struct Blocks;
  SharedHeap();
  static void after_fork();  // in the child
  void adopt(Blocks* blocks);
  ~SharedHeap() = delete;

  int fd_ = -1;
  char* base_ = nullptr;
  size_t bytes_ = 0;
  uint64_t nonce_ = 0;
  std::atomic<uint64_t> allocations_ = 0;
  Blocks* blocks_;  // free and used ranges; has its own lock
};

}  // namespace rondo
