#include "rondo/collectives/message_line.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace rondo {
namespace {

// A channel whose other end is the test.
class Pipe final : public Channel {
 public:
  std::string incoming;
  std::string outgoing;
  size_t room = 0;  // for what is sent

  int streams() const override { return 1; }
  ssize_t send(int, std::span<const iovec> pieces) override {
    size_t taken = 0;
    for (const iovec& piece : pieces) {
      const size_t n = std::min(piece.iov_len, room);
      outgoing.append(static_cast<const char*>(piece.iov_base), n);
      room -= n;
      taken += n;
    }
    return static_cast<ssize_t>(taken);
  }
  ssize_t recv(int, std::span<const iovec> pieces) override {
    const size_t n = std::min(pieces[0].iov_len, incoming.size());
    std::memcpy(pieces[0].iov_base, incoming.data(), n);
    incoming.erase(0, n);
    return static_cast<ssize_t>(n);
  }
  bool poll_for_send(int, std::vector<pollfd>&) const override { return false; }
  bool poll_for_recv(int, std::vector<pollfd>&) const override { return false; }
  Status failure() const override { return {}; }
};

FrameHeader header_of(FrameKind kind, int64_t count = 4) {
  FrameHeader header;
  header.kind = kind;
  header.dtype = DType::kU8;
  header.id = 7;
  header.count = count;
  return header;
}

std::string bytes_of(const FrameHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

TEST(MessageLine, FramesThatNoRankSendsAreRefusedBeforeAnythingLooksAtThem) {
  std::vector<FrameHeader> wrong(7, header_of(FrameKind::kEager));
  wrong[0].magic = 1;
  wrong[1].kind = static_cast<FrameKind>(5);
  wrong[2].dtype = static_cast<DType>(kDTypeCount);
  wrong[3].dtype = static_cast<DType>(255);
  wrong[4].count = -1;
  wrong[5].count = int64_t{1} << 61;  // times 8 is 0
  wrong[6].zero = 1;
  for (const FrameHeader& header : wrong) {
    Pipe pipe;
    MessageLine line(&pipe);
    pipe.incoming = bytes_of(header) + "four";
    bool moved = false;
    const Status status = line.receive(
        [](const FrameHeader&) -> Result<void*> {
          ADD_FAILURE() << "a place was asked for";
          return nullptr;
        },
        [](const FrameHeader&) -> Status {
          ADD_FAILURE() << "it arrived";
          return {};
        },
        moved);
    EXPECT_EQ(status.code(), Code::kInternal);
  }
}

// `left` bytes of a frame have left when its message is taken back.
MessageLine::Taken taken_after(FrameKind kind, size_t left,
                               std::string* arrives = nullptr) {
  Pipe pipe;
  MessageLine line(&pipe);
  std::string payload = "four";
  bool told = false;
  line.push(header_of(kind), payload.data(), [&] { told = true; });
  bool moved = false;
  pipe.room = left;
  EXPECT_TRUE(line.send(moved));
  const auto taken = line.take_back(7);
  payload = "gone";
  pipe.room = 1000;
  EXPECT_TRUE(line.send(moved));
  EXPECT_FALSE(line.has_frames());
  EXPECT_TRUE(taken != MessageLine::Taken::kWhole || !told);
  if (arrives != nullptr) *arrives = pipe.outgoing;
  return taken;
}

TEST(MessageLine, WhatIsTakenBack) {
  using Taken = MessageLine::Taken;
  const size_t head = sizeof(FrameHeader);
  std::string arrives;
  EXPECT_EQ(taken_after(FrameKind::kEager, 0, &arrives), Taken::kWhole);
  EXPECT_EQ(arrives, "");
  // Half a frame is followed by its other half, as it was.
  for (const size_t left : {size_t{3}, head, head + 2}) {
    EXPECT_EQ(taken_after(FrameKind::kEager, left, &arrives), Taken::kWhole);
    EXPECT_EQ(arrives, bytes_of(header_of(FrameKind::kEager)) + "four");
  }
  EXPECT_EQ(taken_after(FrameKind::kOffer, 0), Taken::kWhole);
  EXPECT_EQ(taken_after(FrameKind::kOffer, 3), Taken::kOffered);
  EXPECT_EQ(taken_after(FrameKind::kOffer, head), Taken::kOffered);
  EXPECT_EQ(taken_after(FrameKind::kData, 0), Taken::kNot);
}

}  // namespace
}  // namespace rondo
