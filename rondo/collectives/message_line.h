// MessageLine: the frames between this rank and one peer of a mailbox.
//
// A message of at most kEagerBytes is one frame, kEager with its payload. A
// longer one is offered (kOffer), and sent (kData) once the peer has accepted
// the offer (kAccept). One that is given up before that is withdrawn
// (kWithdrawn); an acceptance that crosses this is ignored.
//
//   frame = header payload?
//   header = magic:u32 kind:u8 dtype:u8 zero:u16 tag:i64 id:u64 count:i64
//
// Not thread-safe: the mailbox's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/tensor/dtype.h"
#include "rondo/transport/channel.h"

namespace rondo {

inline constexpr size_t kEagerBytes = 32 << 10;

enum class FrameKind : uint8_t { kEager, kOffer, kAccept, kData, kWithdrawn };

struct FrameHeader {
  static constexpr uint32_t kMagic = 0x316d7872;
  uint32_t magic = kMagic;
  FrameKind kind = FrameKind::kEager;
  DType dtype = DType::kF32;
  uint16_t zero = 0;
  int64_t tag = 0;
  uint64_t id = 0;  // of the message, among its sender's
  int64_t count = 0;

  // Of the message, which only kEager and kData carry.
  size_t bytes() const { return static_cast<size_t>(count) * size_of(dtype); }
  bool carries() const {
    return kind == FrameKind::kEager || kind == FrameKind::kData;
  }
  size_t payload() const { return carries() ? bytes() : 0; }
  // Whether a header that came can be one, before anything else looks at it.
  Status check() const;
};
static_assert(sizeof(FrameHeader) == 32);

class MessageLine {
 public:
  explicit MessageLine(Channel* channel) : channel_(channel) {}

  // Puts a frame behind the others; `payload` stays until `sent` is called.
  void push(const FrameHeader& header, const void* payload,
            std::function<void()> sent = {});
  bool has_frames() const { return !frames_.empty(); }
  // Sends what can be sent now. False: the channel is broken.
  bool send(bool& moved);
  // Takes back message `id`, whose memory goes, as far as that can be done.
  enum class Taken {
    kWhole,    // nothing of it had left, or it leaves from a copy
    kOffered,  // its offer has left, and is to be withdrawn
    kNot,      // it is long and being sent
  };
  Taken take_back(uint64_t id);

  // Receives what is there. `place` gives the memory for the payload of a frame
  // that carries one, even an empty one (and may refuse), and `arrived` is told
  // when the frame is there.
  using Place = std::function<Result<void*>(const FrameHeader&)>;
  using Arrived = std::function<Status(const FrameHeader&)>;
  Status receive(const Place& place, const Arrived& arrived, bool& moved);
  // Whether part of a frame has come.
  bool within_frame() const { return header_bytes_ > 0; }

  Channel& channel() { return *channel_; }

 private:
  struct Frame {
    FrameHeader header;
    const char* payload = nullptr;
    size_t sent_bytes = 0;  // of header and payload together
    std::function<void()> sent;
    std::vector<char> copy;  // of the payload, when its owner took it back
  };

  Channel* channel_;
  std::deque<Frame> frames_;
  // The frame that is arriving.
  FrameHeader header_;
  size_t header_bytes_ = 0;
  char* into_ = nullptr;
  size_t payload_bytes_ = 0;
};

}  // namespace rondo
