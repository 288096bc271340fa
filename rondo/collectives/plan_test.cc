#include "rondo/collectives/plan.h"

#include <gtest/gtest.h>

#include "rondo/collectives/plan_parts.h"

namespace rondo {
namespace {

TEST(PartOf, CoversTheWholeInOrderAndNearlyEqually) {
  for (int parts = 1; parts <= 9; ++parts) {
    for (int64_t count : {0, 1, 5, 8, 9, 10, 100}) {
      int64_t end = 0;
      for (int i = 0; i < parts; ++i) {
        Part part = part_of(count, parts, i);
        EXPECT_EQ(part.offset, end);
        EXPECT_EQ(part.count, count / parts + (i < count % parts ? 1 : 0));
        end += part.count;
      }
      EXPECT_EQ(end, count);
    }
  }
}

TEST(PartOf, CountsBeyond32Bits) {
  Part part = part_of(int64_t{1} << 40, 3, 2);
  EXPECT_EQ(part.offset + part.count, int64_t{1} << 40);
  EXPECT_EQ(part.count, (int64_t{1} << 40) / 3);
}

TEST(SegmentsOf, TheLastIsShorterAndNothingIsOneEmptySegment) {
  auto lengths = [](int64_t count, int64_t size) {
    std::vector<int64_t> result;
    int64_t end = 0;
    for (Part part : segments_of(count, size)) {
      EXPECT_EQ(part.offset, end);
      end += part.count;
      result.push_back(part.count);
    }
    return result;
  };
  EXPECT_EQ(lengths(0, 4), (std::vector<int64_t>{0}));
  EXPECT_EQ(lengths(4, 4), (std::vector<int64_t>{4}));
  EXPECT_EQ(lengths(9, 4), (std::vector<int64_t>{4, 4, 1}));
}

TEST(Plan, ReadsAsText) {
  Plan plan;
  int copied = plan.copy({Buffer::kInput, 0, 4}, {Buffer::kScratch, 2, 4}, 0);
  plan.send(1, {Buffer::kOutput, 0, 4}, 0, copied);
  plan.recv(2, {Buffer::kOutput, 4, 4}, 1);
  plan.recv_reduce(3, {Buffer::kOutput, 4, 4}, 2, 2);
  plan.join();
  plan.reduce({Buffer::kInput, 0, 1}, {Buffer::kOutput, 0, 1}, 3);
  plan.finish({Buffer::kOutput, 0, 8}, 3);
  EXPECT_EQ(plan.to_string(),
            "step 0: copy input[0,4) to scratch[2,6)\n"
            "step 0: send output[0,4) to 1 after 0\n"
            "step 1: recv output[4,8) from 2\n"
            "step 2: recv_reduce output[4,8) from 3 after 2\n"
            "join\n"
            "step 3: reduce input[0,1) into output[0,1)\n"
            "step 3: finish output[0,8)\n");
  EXPECT_EQ(plan.elements_sent(), 4);
  EXPECT_EQ(plan.steps(), 3);
}

TEST(Plan, SharedMemoryReadsAsText) {
  Plan plan;
  plan.share(0);
  plan.slice_reduce(-1, {Buffer::kInput, 0, 4}, {Buffer::kOutput, 0, 4}, 0);
  plan.slice_reduce(2, {Buffer::kInput, 0, 4}, {Buffer::kOutput, 4, 4}, 0);
  plan.pull(3, {Buffer::kInput, 0, 4}, {Buffer::kOutput, 8, 4}, 1);
  plan.fence(1);
  EXPECT_EQ(plan.to_string(),
            "step 0: share\n"
            "step 0: slice_reduce input[0,4) of all into output[0,4) of all\n"
            "step 0: slice_reduce input[0,4) of all into output[4,8) of 2\n"
            "step 1: pull input[0,4) of 3 to output[8,12)\n"
            "step 1: fence\n");
  EXPECT_EQ(plan.elements_sent(), 0);
  EXPECT_EQ(plan.steps(), 0);
}

TEST(Plan, StepsSpanMessagesOnly) {
  Plan plan;
  EXPECT_EQ(plan.steps(), 0);
  plan.finish({Buffer::kOutput, 0, 1}, 7);
  EXPECT_EQ(plan.steps(), 0);
  plan.send(1, {Buffer::kOutput, 0, 1}, 2);
  EXPECT_EQ(plan.steps(), 1);
  plan.recv(1, {Buffer::kOutput, 0, 1}, 5);
  EXPECT_EQ(plan.steps(), 4);
}

}  // namespace
}  // namespace rondo
