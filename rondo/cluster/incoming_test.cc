// Frames put together from pieces. That a call whose answer stops half-way ends
// by its deadline is in link_stall_test.cc.
#include "rondo/cluster/incoming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace rondo {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As it travels.
std::string bytes_of(const wire::Message& message) {
  const wire::Encoded made = wire::encode(message, false);
  std::string bytes = made.front;
  for (const Tensor& tensor : made.tail)
    bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
  return bytes;
}

Tensor counting(int64_t count) {
  Tensor tensor = Tensor::empty({count});
  std::iota(tensor.span<float>().begin(), tensor.span<float>().end(), 0.0F);
  return tensor;
}

std::vector<float> values(const Tensor& tensor) {
  const auto all = tensor.span<float>();
  return {all.begin(), all.end()};
}

wire::Message sample(uint64_t id) {
  return {.kind = wire::Kind::kAnswer,
          .id = id,
          .code = 3,
          .body = "a body",
          .tensors = {counting(100), Tensor::zeros({0}), counting(2)}};
}

// Hands over as much of `bytes` as the frame wants, `most` at once, and takes
// what it hands over away from it.
Status hand_over(Incoming& incoming, std::string_view& bytes, size_t most) {
  while (!incoming.whole() && !bytes.empty()) {
    const std::span<char> to = incoming.wants();
    const size_t n = std::min({to.size(), bytes.size(), most});
    std::memcpy(to.data(), bytes.data(), n);
    bytes.remove_prefix(n);
    RONDO_RETURN_IF_ERROR(incoming.got(n));
  }
  return {};
}

// What refuses it, after so many bytes.
struct Refusal {
  Status why;
  size_t after = 0;
};
Refusal refusal_of(const std::string& bytes) {
  Incoming incoming({});
  std::string_view left = bytes;
  Refusal made;
  made.why = hand_over(incoming, left, bytes.size());
  made.after = bytes.size() - left.size();
  return made;
}

class IncomingPiecesTest : public testing::TestWithParam<size_t> {};

TEST_P(IncomingPiecesTest, AreFramesOneAfterAnother) {
  Incoming incoming({});
  const std::string all = bytes_of(sample(1)) +
                          bytes_of({.kind = wire::Kind::kPing, .id = 2}) +
                          bytes_of(sample(3));
  std::string_view left = all;
  for (const uint64_t id : {1, 2, 3}) {
    EXPECT_FALSE(incoming.begun());
    EXPECT_FALSE(incoming.whole());
    ASSERT_TRUE(hand_over(incoming, left, GetParam()).ok());
    ASSERT_TRUE(incoming.whole());
    EXPECT_TRUE(incoming.begun());
    const wire::Message message = incoming.take();
    EXPECT_EQ(message.id, id);
    if (id == 2) {
      EXPECT_EQ(message.kind, wire::Kind::kPing);
      EXPECT_THAT(message.body, IsEmpty());
      EXPECT_THAT(message.tensors, IsEmpty());
      continue;
    }
    EXPECT_EQ(message.kind, wire::Kind::kAnswer);
    EXPECT_EQ(message.code, 3U);
    EXPECT_EQ(message.body, "a body");
    ASSERT_EQ(message.tensors.size(), 3U);
    EXPECT_EQ(message.tensors[0].span<float>()[99], 99);
    EXPECT_EQ(message.tensors[1].shape(), (Shape{0}));
    EXPECT_THAT(values(message.tensors[2]), ElementsAre(0, 1));
  }
  EXPECT_THAT(left, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Bytes, IncomingPiecesTest,
                         testing::Values(1, 7, 32, 33, 1000));

// Wherever a frame is left: the memory that it was to go to is its owner's.
TEST(Incoming, WhatIsDroppedLeavesNothing) {
  const std::string frame = bytes_of(sample(1));
  for (size_t cut = 1; cut < frame.size(); ++cut) {
    const Tensor memory = Tensor::zeros({100});
    Incoming incoming(
        {.into = [&](uint64_t) { return std::vector<Tensor>{memory}; }});
    std::string_view part = std::string_view(frame).substr(0, cut);
    ASSERT_TRUE(hand_over(incoming, part, cut).ok());
    EXPECT_TRUE(incoming.begun()) << cut;
    ASSERT_FALSE(incoming.whole()) << cut;
    incoming.drop();
    EXPECT_TRUE(memory.unique()) << cut;
    EXPECT_FALSE(incoming.begun()) << cut;
    EXPECT_EQ(incoming.wants().size(), wire::kHeaderBytes) << cut;
  }
}

// Before memory is taken for what they announce: nothing behind the header, or
// the head, was wanted.
TEST(Incoming, HostileLengthsAreRefused) {
  const std::string good =
      bytes_of({.kind = wire::Kind::kAnswer, .tensors = {counting(1)}});
  const size_t front = good.size() - sizeof(float);
  std::string head = good;
  head[23] = 0x7f;  // bytes of the head
  const Refusal by_header = refusal_of(head);
  EXPECT_THAT(by_header.why.message(), HasSubstr("its head is too long"));
  EXPECT_EQ(by_header.after, wire::kHeaderBytes);

  std::string tail = good;
  tail[31] = 0x7f;  // bytes of the tail
  const Refusal by_tail = refusal_of(tail);
  EXPECT_THAT(by_tail.why.message(), HasSubstr("than its tail"));
  EXPECT_EQ(by_tail.after, front);

  std::string extent = good;
  extent[front - 1] = 0x7f;  // of the tensor
  const Refusal by_extent = refusal_of(extent);
  EXPECT_THAT(by_extent.why.message(), HasSubstr("larger than memory"));
  EXPECT_EQ(by_extent.after, front);

  std::string body = good;
  body[wire::kHeaderBytes + 3] = 0x7f;  // bytes of the body
  EXPECT_THAT(refusal_of(body).why.message(),
              HasSubstr("longer than its head"));
}

TEST(Incoming, AnswersGoToWhereTheyAreWanted) {
  const Tensor memory = Tensor::zeros({100}), other = Tensor::zeros({7});
  std::vector<uint64_t> asked;
  Incoming incoming({.into = [&](uint64_t id) {
    asked.push_back(id);
    return std::vector<Tensor>{memory, Tensor::zeros({0}), other};
  }});
  const std::string frame = bytes_of(sample(5));
  std::string_view left = frame;
  ASSERT_TRUE(hand_over(incoming, left, frame.size()).ok());
  wire::Message answer = incoming.take();
  EXPECT_EQ(answer.tensors[0].data(), memory.data());
  EXPECT_EQ(memory.span<float>()[99], 99);
  // That memory is of another shape.
  EXPECT_NE(answer.tensors[2].data(), other.data());
  EXPECT_THAT(values(other), Each(0));
  // Calls are nobody's answers.
  wire::Message call = sample(6);
  call.kind = wire::Kind::kCall;
  const std::string called = bytes_of(call);
  left = called;
  ASSERT_TRUE(hand_over(incoming, left, called.size()).ok());
  EXPECT_NE(incoming.take().tensors[0].data(), memory.data());
  EXPECT_THAT(asked, ElementsAre(5));
}

// A tensor of the peer's memory, and when the peer may have it back.
class IncomingShownTest : public testing::Test {
 protected:
  static constexpr int64_t kCount = 1 << 13;
  static constexpr uint64_t kOffset = 4096;

  void hand_over_shown(Incoming& incoming) {
    auto heap = Segment::create(1 << 20).value();
    std::fill_n(reinterpret_cast<float*>(heap->data() + kOffset), kCount, 2.0F);
    incoming.map(heap);
    incoming.on_release([this](uint64_t id) { released_.push_back(id); });
    std::string front = wire::encode({.kind = wire::Kind::kCall,
                                      .id = 8,
                                      .tensors = {Tensor::zeros({kCount})}},
                                     true)
                            .front;
    std::memcpy(front.data() + front.size() - sizeof kOffset, &kOffset,
                sizeof kOffset);
    std::string_view left = front;
    ASSERT_TRUE(hand_over(incoming, left, front.size()).ok());
    ASSERT_TRUE(incoming.whole());
  }

  std::vector<uint64_t> released_;
};

TEST_F(IncomingShownTest, IsCopiedAndGivenBackAtOnce) {
  Incoming incoming({});
  hand_over_shown(incoming);
  const wire::Message message = incoming.take();
  EXPECT_THAT(released_, ElementsAre(8));
  EXPECT_THAT(values(message.tensors[0]), Each(2));
}

TEST_F(IncomingShownTest, MayBeBorrowedUntilItsTensorIsGone) {
  Incoming incoming({.borrows = true});
  hand_over_shown(incoming);
  wire::Message message = incoming.take();
  Tensor tensor = std::move(message.tensors[0]);
  message = {};
  EXPECT_THAT(released_, IsEmpty());
  EXPECT_THAT(values(tensor), Each(2));
  tensor = {};
  EXPECT_THAT(released_, ElementsAre(8));
}

TEST_F(IncomingShownTest, IsGivenBackWhereItsFrameIsDropped) {
  Incoming incoming({.borrows = true});
  hand_over_shown(incoming);
  incoming.drop();
  EXPECT_THAT(released_, ElementsAre(8));
}

}  // namespace
}  // namespace rondo
