// The simulator must see what is wrong with a plan: each test here runs one
// that breaks a single rule.
#include "rondo/collectives/plan_simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using testing::HasSubstr;

constexpr int64_t kCount = 6;
constexpr Range kAll{Buffer::kOutput, 0, kCount};
constexpr Range kLeft{Buffer::kOutput, 0, 3};
constexpr Range kRight{Buffer::kOutput, 3, 3};

std::vector<SimulatedRank> ranks_of(std::vector<Plan> plans) {
  std::vector<SimulatedRank> ranks;
  for (Plan& plan : plans) {
    int64_t value = 10 * (static_cast<int64_t>(ranks.size()) + 1);
    ranks.push_back({std::move(plan), {}, {}, true});
    ranks.back().output.assign(kCount, value);
  }
  return ranks;
}

// The schedules that tests of plans go through.
std::vector<SimulatorOptions> schedules() {
  std::vector<SimulatorOptions> all;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (int way = 0; way < 4; ++way)
      all.push_back({seed, 2, way % 2, way > 1});
  }
  return all;
}

// Whether some schedule leaves another value than `expected` somewhere on rank
// r.
bool some_schedule_is_wrong(const std::vector<Plan>& plans, int r,
                            int64_t expected) {
  for (const SimulatorOptions& options : schedules()) {
    std::vector<SimulatedRank> ranks = ranks_of(plans);
    EXPECT_EQ(simulate(ranks, options), "");
    for (int64_t value : ranks[r].output) {
      if (value != expected) return true;
    }
  }
  return false;
}

TEST(PlanSimulator, RunsARightPlan) {
  Plan a, b;
  a.recv_reduce(1, kAll, 0);
  a.finish(kAll, 0, 0);
  a.send(1, kAll, 1, 1);
  b.send(0, kAll, 0);
  b.recv(0, kAll, 1);
  EXPECT_FALSE(some_schedule_is_wrong({a, b}, 0, finished(30)));
  EXPECT_FALSE(some_schedule_is_wrong({a, b}, 1, finished(30)));
}

TEST(PlanSimulator, SeesSizesThatDiffer) {
  Plan a, b;
  a.send(1, kAll, 0);
  b.recv(0, kLeft, 0);
  b.recv(0, kRight, 0);
  auto ranks = ranks_of({a, b});
  EXPECT_THAT(simulate(ranks, {}), HasSubstr("receives 3 elements"));
}

TEST(PlanSimulator, SeesMessagesInAnotherOrder) {
  Plan a, b;
  a.send(1, kLeft, 0);
  a.send(1, {Buffer::kOutput, 3, 2}, 0);
  b.recv(0, {Buffer::kOutput, 3, 2}, 0);
  b.recv(0, kLeft, 0);
  auto ranks = ranks_of({a, b});
  EXPECT_THAT(simulate(ranks, {}), HasSubstr("receives 2 elements"));
}

TEST(PlanSimulator, SeesAnEmptyMessageThatNobodyExpects) {
  Plan a;
  a.send(1, {Buffer::kOutput, 0, 0}, 0);
  auto ranks = ranks_of({a, Plan{}});
  EXPECT_THAT(simulate(ranks, {}), HasSubstr("never receives"));
}

TEST(PlanSimulator, SeesAMessageThatNeverComes) {
  Plan a;
  a.recv(1, kAll, 0);
  auto ranks = ranks_of({a, Plan{}});
  EXPECT_THAT(simulate(ranks, {}), HasSubstr("deadlock: rank 0, action 0"));
}

// Both send all before they receive, which needs room for all in the channels.
TEST(PlanSimulator, SeesADeadlockThatOnlyRoomWouldHide) {
  auto plan = [](int peer) {
    Plan p;
    p.send(peer, {Buffer::kInput, 0, kCount}, 0);
    p.join();
    p.recv(peer, kAll, 0);
    return p;
  };
  auto ranks = ranks_of({plan(1), plan(0)});
  EXPECT_EQ(simulate(ranks, {}), "");
  ranks = ranks_of({plan(1), plan(0)});
  EXPECT_THAT(simulate(ranks, {0, 2, 1, false}), HasSubstr("deadlock"));
  ranks = ranks_of({plan(1), plan(0)});
  EXPECT_THAT(simulate(ranks, {0, 2, 0, true}), HasSubstr("deadlock"));
}

TEST(PlanSimulator, SeesAWriteToWhatIsBeingSent) {
  Plan a, b;
  a.send(1, kAll, 0);
  a.recv(2, kAll, 0);
  b.recv(0, kAll, 0);
  Plan c;
  c.send(0, kAll, 0);
  EXPECT_TRUE(some_schedule_is_wrong({a, b, c}, 1, 10));
  a.actions[1].after = 0;
  EXPECT_FALSE(some_schedule_is_wrong({a, b, c}, 1, 10));
}

TEST(PlanSimulator, SeesAForwardThatDoesNotWait) {
  Plan a, b, c;
  a.send(1, kAll, 0);
  b.recv(0, kAll, 0);
  b.send(2, kAll, 1);
  c.recv(1, kAll, 1);
  EXPECT_TRUE(some_schedule_is_wrong({a, b, c}, 2, 10));
  b.actions[1].after = 0;
  EXPECT_FALSE(some_schedule_is_wrong({a, b, c}, 2, 10));
}

TEST(PlanSimulator, SeesTwoAdditionsToTheSameElementsAtOnce) {
  Plan a, b, c;
  a.recv_reduce(1, kAll, 0);
  a.recv_reduce(2, kAll, 0);
  b.send(0, kAll, 0);
  c.send(0, kAll, 0);
  EXPECT_TRUE(some_schedule_is_wrong({a, b, c}, 0, 60));
  a.actions[1].after = 0;
  EXPECT_FALSE(some_schedule_is_wrong({a, b, c}, 0, 60));
}

TEST(PlanSimulator, SeesAFinishThatIsMissingOrDoneTwice) {
  Plan plan;
  EXPECT_TRUE(some_schedule_is_wrong({plan}, 0, finished(10)));
  plan.finish(kAll, 0);
  EXPECT_FALSE(some_schedule_is_wrong({plan}, 0, finished(10)));
  plan.finish(kAll, 0, 0);
  EXPECT_TRUE(some_schedule_is_wrong({plan}, 0, finished(10)));
}

// An `after` says nothing about empty messages; only a join does.
TEST(PlanSimulator, LetsEmptyMessagesOvertakeWhatTheyComeAfter) {
  const Range none{Buffer::kOutput, 0, 0};
  Plan a, b;
  a.recv(1, none, 0);
  a.send(1, none, 0, 0);
  b.recv(0, none, 0);
  b.join();
  b.send(0, none, 1);
  auto ranks = ranks_of({a, b});
  EXPECT_EQ(simulate(ranks, {}), "");
}

TEST(PlanSimulator, SeesSharedMemoryUsedWithoutAFence) {
  auto plan = [](int rank, bool fence) {
    Plan p;
    p.share(0);
    p.slice_reduce(rank, kAll, kAll, 0);
    if (fence) p.fence(0);
    return p;
  };
  // Each reads what the other writes, whatever the fence behind it.
  EXPECT_TRUE(some_schedule_is_wrong({plan(0, true), plan(1, true)}, 0, 30));
  auto pull = [](int rank, bool fence) {
    Plan p;
    p.share(0);
    if (rank == 0) p.finish(kAll, 0);
    if (fence) p.fence(0);
    if (rank == 1) p.pull(0, kAll, kAll, 1);
    return p;
  };
  EXPECT_TRUE(some_schedule_is_wrong({pull(0, false), pull(1, false)}, 1,
                                     finished(10)));
  EXPECT_FALSE(
      some_schedule_is_wrong({pull(0, true), pull(1, true)}, 1, finished(10)));
}

TEST(PlanSimulator, SeesAMeetingThatSomeoneMisses) {
  Plan a;
  a.fence(0);
  auto ranks = ranks_of({a, Plan{}});
  EXPECT_THAT(simulate(ranks, {}), HasSubstr("deadlock: rank 0, action 0"));
  ranks = ranks_of({a, Plan{}});
  ranks[1].host = 1;
  EXPECT_EQ(simulate(ranks, {}), "");
}

TEST(FaultOf, SeesWhatIsWrongWithAnAction) {
  auto fault = [](auto change) {
    Plan plan;
    plan.recv(1, kLeft, 0);
    plan.send(1, kLeft, 1, 0);
    change(plan);
    return fault_of(plan, 2, 0, kCount, kCount);
  };
  EXPECT_EQ(fault([](Plan&) {}), "");
  EXPECT_THAT(fault([](Plan& p) { p.actions[1].after = 1; }),
              HasSubstr("not earlier"));
  EXPECT_THAT(fault([](Plan& p) { p.actions[0].after = 1; }),
              HasSubstr("not earlier"));
  EXPECT_THAT(fault([](Plan& p) { p.actions[1].src.count = 2; }),
              HasSubstr("has 2 elements"));
  EXPECT_THAT(fault([](Plan& p) { p.actions[1].peer = 0; }),
              HasSubstr("no peer 0"));
  EXPECT_THAT(fault([](Plan& p) { p.actions[1].peer = 2; }),
              HasSubstr("no peer 2"));
  EXPECT_THAT(fault([](Plan& p) { p.actions[1].src.offset = 4; }),
              HasSubstr("outside"));
  EXPECT_THAT(
      fault([](Plan& p) { p.actions[0].dst.buffer = Buffer::kScratch; }),
      HasSubstr("outside"));
  EXPECT_THAT(fault([](Plan& p) { p.copy(kLeft, kAll, 0); }),
              HasSubstr("differ in size"));
  EXPECT_THAT(fault([](Plan& p) {
                p.join();
                p.send(1, {Buffer::kOutput, 0, 0}, 0, 2);
              }),
              HasSubstr("after a join"));
}

}  // namespace
}  // namespace rondo
