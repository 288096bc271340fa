#include "rondo/planner/replay_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::HasSubstr;

TEST(ReplayJob, ComesBackFromItsText) {
  ReplayJob job{.method = {.kind = MethodKind::kServers, .spare = 2},
                .computation = 0.55,
                .seconds_per_flop = 0.25,
                .slowness = {1, 1.5},
                .exchanges = {{.bytes = 1e6, .ready = 0.5, .update = 0.25},
                              {.bytes = 4,
                               .ready = 1,
                               .gather = true,
                               .rows = 3,
                               .table_rows = 9,
                               .index_bytes = 8,
                               .flops = 8}},
                .rounds = 3};
  const ReplayJob read = ReplayJob::from_json(job.to_json()).value();
  EXPECT_EQ(read.method, job.method);
  EXPECT_EQ(read.computation, 0.55);
  EXPECT_EQ(read.seconds_per_flop, 0.25);
  EXPECT_EQ(read.slowness, job.slowness);
  EXPECT_EQ(read.rounds, 3);
  ASSERT_EQ(read.exchanges.size(), 2u);
  EXPECT_EQ(read.exchanges[0].bytes, 1e6);
  EXPECT_EQ(read.exchanges[0].ready, 0.5);
  EXPECT_EQ(read.exchanges[0].update, 0.25);
  EXPECT_EQ(read.exchanges[1].flops, 8);
  EXPECT_TRUE(read.exchanges[1].gather);
  EXPECT_EQ(read.exchanges[1].rows, 3);
  EXPECT_EQ(read.exchanges[1].table_rows, 9);
  EXPECT_EQ(read.exchanges[1].index_bytes, 8);
}

TEST(ReplayJob, IsThatOfTheWorkload) {
  Workload workload = uniform_workload(1e6);
  workload.step_seconds = 0.1;
  workload.flop_rate = 1e9;
  workload.with_factors = [](int, const FactorTerms&) {
    return std::vector<PlannedExchange>{
        {.bytes = 100, .ready = 1, .gather = true, .flops = 1e8}};
  };
  const Network network{.workers = 3, .hosts = 3};
  const Method method{.kind = MethodKind::kRing, .factors = true};
  const ReplayJob job =
      ReplayJob::make(method, network, workload, {.slowest = 2});
  EXPECT_EQ(job.computation, 0.1);
  EXPECT_DOUBLE_EQ(job.seconds_per_flop, 2e-9);
  EXPECT_EQ(job.slowness.back(), 2);
  EXPECT_EQ(job.exchanges.size(), 1u);
}

TEST(ReplayJob, OtherTextIsRefused) {
  EXPECT_THAT(ReplayJob::from_json("{}").status().message(),
              HasSubstr("not a step to replay"));
  EXPECT_THAT(ReplayTimes::from_json("[]").status().message(),
              HasSubstr("not what a replay says"));
}

}  // namespace
}  // namespace rondo
