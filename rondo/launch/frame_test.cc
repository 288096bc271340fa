#include "rondo/launch/frame.h"

#include <gtest/gtest.h>

#include "rondo/launch/job_spec.h"

namespace rondo {
namespace {

TEST(Frame, ArrivesWholeFromSingleBytes) {
  const std::string payload("a\0\n\xff", 4);
  const std::string bytes =
      encode_frame(FrameType::kOutput, 7, payload, Stream::kErr) +
      encode_frame(FrameType::kDone);
  FrameReader reader;
  Frame frame;
  std::vector<Frame> frames;
  for (char byte : bytes) {
    reader.feed(std::string_view(&byte, 1));
    while (reader.next(&frame).value()) frames.push_back(frame);
  }
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].type, FrameType::kOutput);
  EXPECT_EQ(frames[0].rank, 7);
  EXPECT_EQ(frames[0].stream, Stream::kErr);
  EXPECT_EQ(frames[0].payload, payload);
  EXPECT_EQ(frames[1].type, FrameType::kDone);
}

TEST(Frame, GarbageIsAnErrorAndAllocatesNothing) {
  Frame frame;
  FrameReader text;
  text.feed("Last login: yesterday");
  EXPECT_FALSE(text.next(&frame).ok());

  std::string huge = encode_frame(FrameType::kOutput, 0, "x");
  huge[11] = '\x7f';
  FrameReader long_one;
  long_one.feed(huge);
  EXPECT_FALSE(long_one.next(&frame).ok());

  std::string cut = encode_frame(FrameType::kOutput, 0, "xyz");
  cut.back() = '!';
  FrameReader damaged;
  damaged.feed(cut);
  EXPECT_FALSE(damaged.next(&frame).ok());
}

TEST(JobSpec, SurvivesTheWire) {
  JobSpec spec;
  spec.argv = {"prog", "", "two words\n"};
  spec.environment = {{"A", "1"}, {"EMPTY", ""}};
  spec.directory = "/some/where";
  spec.directory_required = true;
  spec.first_rank = 4;
  spec.count = 2;
  spec.world_size = 6;
  spec.term_time = std::chrono::milliseconds(12345);
  const JobSpec back = decode_job_spec(encode_job_spec(spec)).value();
  EXPECT_EQ(back.argv, spec.argv);
  EXPECT_EQ(back.environment, spec.environment);
  EXPECT_EQ(back.directory, spec.directory);
  EXPECT_TRUE(back.directory_required);
  EXPECT_EQ(back.first_rank, 4);
  EXPECT_EQ(back.count, 2);
  EXPECT_EQ(back.world_size, 6);
  EXPECT_EQ(back.term_time, spec.term_time);
}

TEST(JobSpec, EveryTruncationIsAnError) {
  JobSpec spec;
  spec.argv = {"prog", "arg"};
  spec.environment = {{"A", "1"}};
  const std::string bytes = encode_job_spec(spec);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_job_spec(bytes.substr(0, length)).ok()) << length;
  EXPECT_FALSE(decode_job_spec(bytes + "x").ok());
  spec.first_rank = 3;
  EXPECT_FALSE(decode_job_spec(encode_job_spec(spec)).ok());
}

}  // namespace
}  // namespace rondo
