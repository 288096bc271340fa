// Segment: memory that ranks on one host share.
//
// The owner creates it as a memfd and publishes its SegmentHandle; a peer
// attaches by opening /proc/<pid>/fd/<fd> and checking the nonce written there,
// so "same host" is found out by doing it, never guessed from a name. A peer
// that is a thread of the same process gets the owner's own mapping. Where no
// memfd can be had the segment is private and only such threads can attach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "rondo/base/status.h"

namespace rondo {

// Names a segment; plain bytes, so it can be published as it is.
struct SegmentHandle {
  uint64_t process = 0;  // random number of the owner's process
  uint64_t nonce = 0;    // first 8 bytes of the segment
  uint64_t bytes = 0;
  int32_t pid = 0;
  int32_t fd = -1;  // -1: private to its process
};

class Segment {
 public:
  // Zeroed memory of `bytes` bytes; pages exist once touched. The first 8 bytes
  // hold the nonce.
  static Result<std::shared_ptr<Segment>> create(size_t bytes);
  // Memory that exists already and starts with `nonce` (the tensor heap).
  static SegmentHandle handle_of(int fd, uint64_t nonce, size_t bytes);
  static Result<std::shared_ptr<Segment>> attach(const SegmentHandle& handle);
  ~Segment();
  Segment(const Segment&) = delete;

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  const SegmentHandle& handle() const { return handle_; }

 private:
  Segment() = default;

  char* data_ = nullptr;
  size_t bytes_ = 0;
  int fd_ = -1;
  bool owner_ = false;
  SegmentHandle handle_;
};

// A random number that is the same for all threads of this process only.
uint64_t process_nonce();

}  // namespace rondo
