// PeerMemory: the memory of another rank on this host, as this rank can reach
// it: its tensor heap mapped here, and its whole address space through
// process_vm_readv/writev where the kernel permits that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rondo/base/status.h"
#include "rondo/transport/shm/board.h"
#include "rondo/transport/shm/segment.h"

namespace rondo {

class PeerMemory {
 public:
  PeerMemory() = default;
  // `heap` may have no descriptor: then nothing of the peer's is mapped.
  // `probe` is an address of 8 bytes in the peer that hold probe_value: remote
  // access is used only when reading them works.
  PeerMemory(const SegmentHandle& heap, uint64_t probe, uint64_t probe_value,
             bool try_remote);

  bool maps_heap() const { return same_process_ || heap_ != nullptr; }
  bool remote_access() const { return same_process_ || remote_; }

  // The peer's buffer as a pointer of this process, or nullptr when it cannot
  // be read and written in place.
  char* resolve(const BufferAddress& buffer) const;
  // Copies between the peer's foreign memory and this process.
  Status read(const BufferAddress& from, uint64_t offset, void* to,
              size_t bytes) const;
  Status write(const BufferAddress& to, uint64_t offset, const void* from,
               size_t bytes) const;

 private:
  int32_t pid_ = 0;
  bool same_process_ = false;
  bool remote_ = false;
  std::shared_ptr<Segment> heap_;
};

}  // namespace rondo
