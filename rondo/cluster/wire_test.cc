#include "rondo/cluster/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "rondo/cluster/session_call.h"

namespace rondo::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Parsed {
  Header header;
  Head head;
};

Result<Parsed> parse(std::string_view front, size_t heap_bytes = 0) {
  if (front.size() < kHeaderBytes)
    return error(Code::kInvalidArgument, "short");
  RONDO_ASSIGN_OR_RETURN(Header header,
                         decode_header(front.substr(0, kHeaderBytes)));
  const std::string_view rest = front.substr(kHeaderBytes);
  if (header.head_bytes != rest.size())
    return error(Code::kInvalidArgument, "another head");
  RONDO_ASSIGN_OR_RETURN(Head head, decode_head(header, rest, heap_bytes));
  return Parsed{header, std::move(head)};
}

Message sample() {
  return {.kind = Kind::kCall,
          .id = 77,
          .code = 5,
          .body = Writer().number(-3).text("key").take(),
          .tensors = {Tensor::full<float>({2, 3}, 1.5f),
                      Tensor::zeros({0}, DType::kI64),
                      Tensor::full<int64_t>({}, 9)}};
}

TEST(Wire, ComesBack) {
  const Encoded encoded = encode(sample(), false);
  EXPECT_FALSE(encoded.mapped);
  ASSERT_EQ(encoded.tail.size(), 2u);
  auto parsed = parse(encoded.front);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->header.id, 77u);
  EXPECT_EQ(parsed->header.code, 5u);
  EXPECT_EQ(parsed->header.tail_bytes, 24u + 8u);
  ASSERT_EQ(parsed->head.tensors.size(), 3u);
  EXPECT_EQ(parsed->head.tensors[0].shape, (Shape{2, 3}));
  EXPECT_EQ(parsed->head.tensors[1].dtype, DType::kI64);
  EXPECT_EQ(parsed->head.tensors[2].bytes, 8u);
  Reader body(parsed->head.body);
  EXPECT_EQ(body.number(), -3);
  EXPECT_EQ(body.text(), "key");
  EXPECT_TRUE(body.ok());
}

TEST(Wire, LargeTensorsAreShown) {
  const Tensor large = Tensor::zeros({1 << 16});
  const Encoded encoded =
      encode({.kind = Kind::kAnswer, .tensors = {large}}, true);
  EXPECT_TRUE(encoded.mapped);
  EXPECT_TRUE(encoded.tail.empty());
  auto parsed = parse(encoded.front, SIZE_MAX);
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->head.tensors[0].mapped);
  EXPECT_EQ(parsed->head.tensors[0].bytes, large.bytes());
  // Who has not mapped that much does not look there.
  auto outside = parse(encoded.front, parsed->head.tensors[0].offset + 10);
  EXPECT_THAT(outside.status().message(), HasSubstr("outside of the heap"));
}

TEST(Wire, RefusesLengthsThatDoNotFit) {
  const std::string good = encode(sample(), false).front;
  std::string tail = good;
  tail[24] = 1;  // of the tail
  EXPECT_THAT(parse(tail).status().message(), HasSubstr("than its tail"));
  std::string kind = good;
  kind[4] = 99;
  EXPECT_THAT(parse(kind).status().message(), HasSubstr("unknown kind"));
  std::string head = good;
  head[23] = 0x7f;  // of the head
  EXPECT_THAT(parse(head).status().message(), HasSubstr("too long"));
}

TEST(Wire, RefusesTensorsLargerThanMemory) {
  Message message{.kind = Kind::kCall, .tensors = {Tensor::zeros({1, 1})}};
  std::string front = encode(message, false).front;
  const int64_t huge = int64_t{1} << 40;
  for (const size_t back : {16u, 8u})
    std::memcpy(front.data() + front.size() - back, &huge, 8);
  EXPECT_THAT(parse(front).status().message(), HasSubstr("larger than memory"));
}

TEST(Wire, RefusesTensorsOfAHeapThatIsNotMapped) {
  Message message{.kind = Kind::kCall, .tensors = {Tensor::zeros({0})}};
  std::string front = encode(message, false).front;
  const size_t extent = 8, offset = 8;
  front[front.size() - extent - 1] = 1;  // its place: in the heap
  front.append(offset, '\0');
  front[20] += offset;  // of the head
  EXPECT_TRUE(parse(front, 4096).ok());
  EXPECT_THAT(parse(front).status().message(),
              HasSubstr("outside of the heap"));
}

// Whatever a byte is changed to, or wherever a frame is cut: an error or a
// frame, and nothing outside of the bytes is touched.
TEST(Wire, StandsAnyBytes) {
  const std::string good = encode(sample(), false).front;
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 1 + round % 4; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    (void)parse(bytes, random()).ok();
    Reader body(bytes);
    while (body.left() > 0 && !body.text().empty()) {
    }
  }
}

TEST(Wire, ReaderSaysWhenItEnds) {
  const std::string bytes = Writer().number(1).take();
  Reader more(bytes);
  EXPECT_EQ(more.number(), 1);
  EXPECT_EQ(more.text(), "");
  EXPECT_FALSE(more.ok());
  Reader less(bytes);
  EXPECT_FALSE(less.ok());
}

TEST(Wire, TextsComeBackAndAreCounted) {
  const std::vector<std::string> names = {"a", "", "b:1"};
  const std::string bytes = Writer().texts(names).number(5).take();
  Reader in(bytes);
  EXPECT_EQ(in.texts(), names);
  EXPECT_EQ(in.number(), 5);
  EXPECT_TRUE(in.ok());
  for (const int64_t wrong : {int64_t{-1}, int64_t{3}, INT64_MAX}) {
    const std::string none = Writer().number(wrong).number(0).take();
    Reader less(none);
    EXPECT_TRUE(less.texts().empty());
    less.number();
    EXPECT_FALSE(less.ok()) << wrong;
  }
}

// Found by fuzzing: a number of names that cannot be was taken for none.
TEST(Wire, SessionCallRefusesNamesThatAreNotThere) {
  const std::string bytes = Writer()
                                .number(1)
                                .number(2)
                                .number(3)
                                .number(0)
                                .texts({"x:0"})
                                .texts({})
                                .number(int64_t{1} << 50)
                                .take();
  EXPECT_FALSE(SessionCall::decode(bytes).ok());
}

}  // namespace
}  // namespace rondo::wire
