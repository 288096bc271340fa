// Board: the shared memory through which one rank speaks to the others on its
// host. Its owner writes the slots, the counters and the stage, everybody reads
// them; each peer writes the pipe that leads from it to the owner.
//
//   +0      nonce of the segment, doorbell
//   slots   2 of them, used in turn: what the owner called, and small payloads
//   fence   a counter; and who uses whose buffers, on cache lines of their own
//   stage   2 areas of kStageBytes for copies of foreign buffers
//   pipes   one per member of the group, kPipeBytes each
//
// The memory is sparse: what is not used costs nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rondo/base/status.h"
#include "rondo/transport/shm/doorbell.h"
#include "rondo/transport/shm/segment.h"

namespace rondo {

// What a rank called: travels in a slot and in the header of every message, and
// is compared with what the reader called itself.
struct OpTag {
  uint64_t sequence = 0;  // which collective of the communicator, from 1
  int64_t count = 0;      // elements
  uint8_t operation = 0;  // Operation (collectives)
  uint8_t dtype = 0;
  uint8_t reduce_op = 0;
  uint8_t algorithm = 0;
  int32_t root = 0;  // allgatherv, which has none: a checksum of its counts
  bool operator==(const OpTag&) const = default;
};
static_assert(sizeof(OpTag) == 24);

inline constexpr size_t kSlotBytes = 128 << 10;  // largest one-shot payload
inline constexpr size_t kStageBytes = 2 << 20;   // each of the two
inline constexpr size_t kPipeBytes = 1 << 20;

// Where a rank's buffer is.
inline constexpr uint64_t kForeign = ~uint64_t{0};
struct BufferAddress {
  uint64_t address = 0;             // in the owner's address space
  uint64_t heap_offset = kForeign;  // in the owner's heap, if it lies there
};

struct alignas(64) Slot {
  // First line: enough for the smallest operations to move one cache line.
  std::atomic<uint64_t> epoch{0};  // which publication this is
  OpTag tag;
  char small[32];
  // Second line.
  BufferAddress input;
  BufferAddress output;
  alignas(64) char payload[kSlotBytes];
};

// Single producer, single consumer, a ring of bytes. `written` and `read` only
// grow; their difference is what lies in the ring.
struct alignas(64) Pipe {
  alignas(64) std::atomic<uint64_t> written{0};
  alignas(64) std::atomic<uint64_t> read{0};
  alignas(64) char ring[kPipeBytes];
};

struct Board {
  uint64_t nonce = 0;
  Doorbell doorbell;
  Slot slots[2];
  alignas(64) std::atomic<uint64_t> fence{0};
  // The owner is using other ranks' buffers; its own must not be used any more.
  alignas(64) std::atomic<uint32_t> working{0};
  alignas(64) std::atomic<uint32_t> withdrawn{0};
  alignas(4096) char stage[2][kStageBytes];
  Pipe pipes[1];  // as many as the group has members

  static size_t bytes_for(int members) {
    return sizeof(Board) + static_cast<size_t>(members) * sizeof(Pipe);
  }
};

// A board as this process sees it.
class BoardView {
 public:
  BoardView() = default;
  explicit BoardView(std::shared_ptr<Segment> segment)
      : segment_(std::move(segment)) {}
  static Result<BoardView> create(int members);
  static Result<BoardView> attach(const SegmentHandle& handle);

  bool valid() const { return segment_ != nullptr; }
  Board* operator->() const { return get(); }
  Board* get() const { return reinterpret_cast<Board*>(segment_->data()); }
  const SegmentHandle& handle() const { return segment_->handle(); }

 private:
  std::shared_ptr<Segment> segment_;
};

}  // namespace rondo
