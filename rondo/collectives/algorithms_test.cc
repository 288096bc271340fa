#include "rondo/collectives/algorithms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "rondo/collectives/direct_plans.h"

namespace rondo {
namespace {

using testing::HasSubstr;

std::string_view choice(const Topology& topology, int64_t bytes) {
  return select_allreduce(topology, Costs(), bytes).name;
}

TEST(Algorithms, TheTableIsNumberedByItsIds) {
  for (const AlgorithmEntry& entry : allreduce_algorithms()) {
    EXPECT_EQ(&algorithm_entry(entry.id), &entry);
    EXPECT_EQ(find_algorithm(entry.name), &entry);
    EXPECT_EQ(algorithm_name(static_cast<uint8_t>(entry.id)), entry.name);
    EXPECT_FALSE(entry.purpose.empty());
  }
  EXPECT_EQ(find_algorithm("nope"), nullptr);
  EXPECT_EQ(algorithm_name(200), "unknown");
}

TEST(Algorithms, LargeVectorsBetweenHostsGoAroundTheRing) {
  const Topology eight_hosts{.n = 8, .hosts = 8};
  EXPECT_EQ(choice(eight_hosts, 256 << 20), "ring");
  EXPECT_NE(choice(eight_hosts, 64), "ring");
}

TEST(Algorithms, SeveralRanksAHostAreHierarchical) {
  const Topology two_by_four{
      .n = 8, .hosts = 2, .largest_host = 4, .smallest_host = 4};
  EXPECT_EQ(choice(two_by_four, 64 << 20), "hierarchical");
}

TEST(Algorithms, OneHostIsDirect) {
  const Topology host{
      .n = 4, .hosts = 1, .largest_host = 4, .smallest_host = 4};
  EXPECT_EQ(choice(host, 4), "direct");
  EXPECT_EQ(choice(host, 64 << 20), "direct");
}

TEST(Algorithms, ObstaclesAreNamed) {
  const Topology hosts{.n = 2, .hosts = 2};
  EXPECT_EQ(algorithm_entry(Algorithm::kDirect).obstacle(hosts),
            "it needs all ranks on one host");
  EXPECT_FALSE(
      algorithm_entry(Algorithm::kHierarchical).obstacle(hosts).empty());
  EXPECT_TRUE(algorithm_entry(Algorithm::kRing).obstacle(hosts).empty());
}

TEST(Costs, SurviveAFile) {
  Costs costs;
  costs.message = 1.25e-5;
  costs.direct_byte = 3e-11;
  const std::string file = testing::TempDir() + "/tuning";
  std::ofstream(file) << "# a comment\n" << costs.to_string();
  const Costs again = Costs::read(file).value();
  EXPECT_DOUBLE_EQ(again.message, 1.25e-5);
  EXPECT_DOUBLE_EQ(again.direct_byte, 3e-11);
  std::remove(file.c_str());
}

TEST(Costs, NonsenseIsRefusedWithItsLine) {
  EXPECT_THAT(Costs::parse("message 1\nspeed 3\n", "f").status().message(),
              HasSubstr("f, line 2: \"speed 3\""));
  EXPECT_FALSE(Costs::parse("message 0\n", "f").ok());
  EXPECT_FALSE(Costs::parse("message -1\n", "f").ok());
  EXPECT_FALSE(Costs::parse("message x\n", "f").ok());
  EXPECT_FALSE(Costs::parse("message inf\n", "f").ok());
  EXPECT_THAT(Costs::read("/nonexistent").status().message(),
              HasSubstr("rondo tune"));
}

TEST(DirectPlans, SlicesBeginOnCacheLinesAndCoverTheVector) {
  for (int64_t count : {0, 1, 15, 16, 17, 1000})
    for (int parts : {1, 2, 3, 7}) {
      int64_t next = 0;
      for (int i = 0; i < parts; ++i) {
        const Part part = aligned_part(count, parts, i, 16);
        EXPECT_EQ(part.offset, next);
        if (part.count > 0) {
          EXPECT_EQ(part.offset % 16, 0);
        }
        next += part.count;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(DirectPlans, AllreduceMeetsTwice) {
  const Plan plan = direct_allreduce({.n = 2, .rank = 1, .count = 64});
  EXPECT_EQ(plan.to_string(),
            "step 0: share\n"
            "step 1: slice_reduce input[32,64) of all into output[32,64) of "
            "all\n"
            "step 2: fence\n");
}

}  // namespace
}  // namespace rondo
