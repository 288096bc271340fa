#include "rondo/transport/shm/peer_memory.h"

#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace rondo {
namespace {

using RemoteCopy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*,
                               unsigned long, unsigned long);

Status copy_remote(RemoteCopy copy, int32_t pid, void* here, uint64_t there,
                   size_t bytes) {
  char* local = static_cast<char*>(here);
  while (bytes > 0) {
    const iovec mine{local, bytes};
    const iovec theirs{reinterpret_cast<void*>(there), bytes};
    const ssize_t n = copy(pid, &mine, 1, &theirs, 1, 0);
    if (n <= 0)
      return errno_error(Code::kPeerLost, n < 0 ? errno : EFAULT,
                         fmt::format("cannot reach the memory of pid {}", pid));
    local += n;
    there += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

}  // namespace

PeerMemory::PeerMemory(const SegmentHandle& heap, uint64_t probe,
                       uint64_t probe_value, bool try_remote)
    : pid_(heap.pid), same_process_(heap.process == process_nonce()) {
  if (same_process_) return;
  if (heap.fd >= 0)
    if (auto segment = Segment::attach(heap); segment.ok())
      heap_ = std::move(*segment);
  uint64_t value = 0;
  remote_ =
      try_remote &&
      copy_remote(process_vm_readv, pid_, &value, probe, sizeof value).ok() &&
      value == probe_value;
}

char* PeerMemory::resolve(const BufferAddress& buffer) const {
  if (same_process_) return reinterpret_cast<char*>(buffer.address);
  if (buffer.heap_offset == kForeign || heap_ == nullptr) return nullptr;
  return heap_->data() + buffer.heap_offset;
}

Status PeerMemory::read(const BufferAddress& from, uint64_t offset, void* to,
                        size_t bytes) const {
  if (same_process_) {
    std::memcpy(to, reinterpret_cast<const char*>(from.address) + offset,
                bytes);
    return {};
  }
  return copy_remote(process_vm_readv, pid_, to, from.address + offset, bytes);
}

Status PeerMemory::write(const BufferAddress& to, uint64_t offset,
                         const void* from, size_t bytes) const {
  if (same_process_) {
    std::memcpy(reinterpret_cast<char*>(to.address) + offset, from, bytes);
    return {};
  }
  return copy_remote(process_vm_writev, pid_, const_cast<void*>(from),
                     to.address + offset, bytes);
}

}  // namespace rondo
