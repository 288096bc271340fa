#include "rondo/tensor/heap.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "rondo/base/log.h"
#include "rondo/base/mutex.h"
#include "rondo/tensor/block_map.h"
#include "rondo/tensor/heap_file.h"

namespace rondo {
namespace {

constexpr size_t kMaxWarmBytes = size_t{1} << 30;

void* allocate_private(size_t bytes) {
  const size_t unit =
      bytes >= BlockMap::kLarge ? BlockMap::kPage : BlockMap::kGrain;
  if (bytes > SIZE_MAX - unit) return nullptr;
  const size_t rounded = (bytes + unit - 1) / unit * unit;
  return std::aligned_alloc(unit, rounded == 0 ? unit : rounded);
}

}  // namespace

// The file, and what of it is in use. The first page holds the nonce.
struct SharedHeap::Blocks {
  explicit Blocks(const HeapFile& f, Blocks* parents)
      : file(f),
        map(f.bytes == 0 ? 0 : BlockMap::kPage, f.bytes, kMaxWarmBytes),
        inherited(parents) {}

  bool holds(const void* p) const {
    const auto at = reinterpret_cast<uintptr_t>(p);
    const auto low = reinterpret_cast<uintptr_t>(file.base);
    return at >= low && at - low < file.bytes;
  }

  const HeapFile file;  // without fd: private memory
  Mutex mutex;
  BlockMap map RONDO_GUARDED_BY(mutex);
  // The heap from before the fork that made this process.
  Blocks* const inherited;
};

SharedHeap& SharedHeap::process() {
  static SharedHeap* const heap = [] {
    auto* made = new SharedHeap;
    pthread_atfork(nullptr, nullptr, &SharedHeap::after_fork);
    return made;
  }();
  return *heap;
}

SharedHeap::SharedHeap() {
  auto file = make_heap_file(wanted_heap_bytes());
  if (!file.ok())
    log(LogLevel::kWarning,
        "no shared heap, so ranks on this host copy tensors to each other: {}",
        file.status().message());
  adopt(new Blocks(file.ok() ? *file : HeapFile{}, nullptr));
}

void SharedHeap::adopt(Blocks* blocks) {
  blocks_ = blocks;
  fd_ = blocks->file.fd;
  base_ = blocks->file.base;
  bytes_ = blocks->file.bytes;
  nonce_ = blocks->file.nonce;
}

// Without this, parent and child would hand out the same shared memory. The
// parent's lock is not touched: some other thread may have held it.
void SharedHeap::after_fork() {
  SharedHeap& heap = process();
  if (!heap.shareable()) return;
  Blocks* const parents = heap.blocks_;
  const HeapFile& old = parents->file;
  void* const own = mmap(old.base, old.bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, old.fd, 0);
  // A crash in the child is better than numbers that change in the parent.
  if (own == MAP_FAILED) mprotect(old.base, old.bytes, PROT_READ);
  close(old.fd);
  auto file = make_heap_file(old.bytes);
  heap.adopt(new Blocks(file.ok() ? *file : HeapFile{}, parents));
}

void* SharedHeap::allocate(size_t bytes) {
  allocations_.fetch_add(1, std::memory_order_relaxed);
  if (!shareable()) return allocate_private(bytes);
  const MutexLock lock(blocks_->mutex);
  const auto offset = blocks_->map.allocate(bytes);
  return offset ? base_ + *offset : nullptr;
}

void SharedHeap::free(void* p) {
  if (p == nullptr) return;
  if (!blocks_->holds(p)) {
    // What the parent allocated is the parent's to reuse.
    for (const Blocks* b = blocks_->inherited; b != nullptr; b = b->inherited)
      if (b->holds(p)) return;
    if (!shareable()) return std::free(p);
  }
  BlockMap::Freed freed;
  {
    const MutexLock lock(blocks_->mutex);
    freed =
        blocks_->map.free(static_cast<uint64_t>(static_cast<char*>(p) - base_));
  }
  if (!freed.known) {
    log_line(LogLevel::kError,
             "SharedHeap::free of a pointer that is not allocated (freed "
             "twice, or not from allocate)");
    std::abort();
  }
  if (freed.cold.size() == 0) return;
  // Outside the lock, since this takes long for large blocks.
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(freed.cold.start),
            static_cast<off_t>(freed.cold.size()));
  const MutexLock lock(blocks_->mutex);
  blocks_->map.cooled(freed.cold);
}

}  // namespace rondo
