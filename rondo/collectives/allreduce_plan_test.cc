#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_simulator.h"

namespace rondo {
namespace {

struct Algorithm {
  std::string name;
  Plan (*plan)(const AllreduceArgs& args);
};

class AllreducePlanTest : public testing::TestWithParam<Algorithm> {
 protected:
  Plan plan(int n, int rank, int64_t count, bool in_place = true) const {
    return GetParam().plan({n, rank, count, in_place, {}});
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, AllreducePlanTest,
    testing::Values(Algorithm{"naive", naive_allreduce},
                    Algorithm{"star", star_allreduce},
                    Algorithm{"tree", tree_allreduce},
                    Algorithm{"butterfly", butterfly_allreduce},
                    Algorithm{"recursive_doubling",
                              recursive_doubling_allreduce},
                    Algorithm{"ring", ring_allreduce}),
    [](const auto& test) { return test.param.name; });

// Which ranks work in place.
enum class Place { kAll, kNone, kEven };

bool in_place_on(Place place, int rank) {
  return place == Place::kAll || (place == Place::kEven && rank % 2 == 0);
}

// Runs the plans once and compares all that they leave behind.
void run(const Algorithm& algorithm, int n, int64_t count, Place place,
         const SimulatorOptions& options) {
  std::mt19937_64 random(options.seed);
  std::vector<SimulatedRank> ranks(n);
  std::vector<int64_t> expected(count, 0);
  std::vector<std::vector<int64_t>> inputs(n);
  for (int r = 0; r < n; ++r) {
    ranks[r].in_place = in_place_on(place, r);
    // Odd seeds have so little scratch that plans are cut into segments.
    int64_t scratch = options.seed % 2 == 1 ? 16 : int64_t{1} << 20;
    ranks[r].plan =
        algorithm.plan({n, r, count, ranks[r].in_place, {}, scratch});
    for (int64_t i = 0; i < count; ++i) {
      inputs[r].push_back(static_cast<int64_t>(random() >> 32));
      expected[i] += inputs[r][i];
    }
    if (ranks[r].in_place) {
      ranks[r].output = inputs[r];
    } else {
      ranks[r].input = inputs[r];
      ranks[r].output.assign(count, -1);
    }
  }
  for (int64_t& value : expected) value = finished(value);
  ASSERT_EQ(simulate(ranks, options), "");
  for (int r = 0; r < n; ++r) {
    ASSERT_EQ(ranks[r].output, expected) << "rank " << r;
    if (!ranks[r].in_place) {
      ASSERT_EQ(ranks[r].input, inputs[r]) << "rank " << r;
    }
  }
}

TEST_P(AllreducePlanTest, IsRightUnderAnyLegalSchedule) {
  for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16}) {
    for (int64_t count : {0, 1, n - 1, n, n + 1, 3 * n + 1, 100}) {
      for (Place place : {Place::kAll, Place::kNone, Place::kEven}) {
        // Many ranks, some of each kind: enough for what small n has not shown.
        if (n > 9 && place != Place::kEven) continue;
        // Every seed runs in each of the four ways that channels can be.
        for (uint64_t seed = 0; seed < (n > 9 ? 2 : 4); ++seed) {
          for (int way = 0; way < 4; ++way) {
            SCOPED_TRACE(testing::Message()
                         << "n " << n << " count " << count << " place "
                         << static_cast<int>(place) << " seed " << seed
                         << " way " << way);
            int64_t block = seed < 2 ? 2 : 3;
            run(GetParam(), n, count, place,
                {seed, block, way % 2, /*late=*/way >= 2,
                 /*streams=*/1 + static_cast<int>(seed / 2) * 2});
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(AllreducePlanTest, WhatTravelsDoesNotDependOnInPlace) {
  for (int n = 1; n <= 9; ++n) {
    for (int r = 0; r < n; ++r) {
      std::vector<std::tuple<ActionKind, int, int64_t, int>> messages[2];
      for (bool in_place : {false, true}) {
        for (const Action& action : plan(n, r, 100, in_place).actions) {
          bool send = action.kind == ActionKind::kSend;
          if (action.peer < 0) continue;
          messages[in_place].emplace_back(
              send ? ActionKind::kSend : ActionKind::kRecv, action.peer,
              send ? action.src.count : action.dst.count, action.step);
        }
      }
      EXPECT_EQ(messages[0], messages[1]);
    }
  }
}

TEST_P(AllreducePlanTest, LongVectorsNeedLittleScratch) {
  const int64_t count = int64_t{1} << 33;
  const int64_t limit = int64_t{64} << 20;  // bytes
  for (int n : {2, 3, 8, 9}) {
    for (int r = 0; r < n; ++r) {
      Plan long_plan = plan(n, r, count);
      EXPECT_LE(long_plan.scratch * 8, limit);
      EXPECT_EQ(fault_of(long_plan, n, r, count, count), "");
    }
  }
}

// --- what travels --------------------------------------------------------

int64_t sent(const Algorithm& algorithm, int n, int rank, int64_t count) {
  return algorithm.plan({n, rank, count, true, {}}).elements_sent();
}

int64_t sent_by_all(const Algorithm& algorithm, int n, int64_t count) {
  int64_t sum = 0;
  for (int r = 0; r < n; ++r) sum += sent(algorithm, n, r, count);
  return sum;
}

int64_t received(const Plan& plan) {
  int64_t sum = 0;
  for (const Action& action : plan.actions) {
    if (action.kind == ActionKind::kRecv ||
        action.kind == ActionKind::kRecvReduce) {
      sum += action.dst.count;
    }
  }
  return sum;
}

TEST(AllreduceTraffic, RingSendsTwiceTheVectorLessTwoChunksOnEveryRank) {
  for (int n = 1; n <= 16; ++n) {
    const int64_t count = int64_t{n} * 12;
    for (int r = 0; r < n; ++r) {
      Plan plan = ring_allreduce({n, r, count, true, {}});
      EXPECT_EQ(plan.elements_sent(), 2 * (n - 1) * count / n);
      EXPECT_EQ(received(plan), 2 * (n - 1) * count / n);
      EXPECT_EQ(plan.steps(), 2 * (n - 1));
    }
  }
}

TEST(AllreduceTraffic, AllOfTheStarsGoesThroughTheDriver) {
  for (int n = 1; n <= 16; ++n) {
    Plan driver = star_allreduce({n, 0, 100, true, {}});
    EXPECT_EQ(driver.elements_sent(), 100 * (n - 1));
    EXPECT_EQ(received(driver), 100 * (n - 1));
    EXPECT_EQ(driver.in_order, n > 1);
    EXPECT_EQ(sent_by_all({"star", star_allreduce}, n, 100), 2 * 100 * (n - 1));
  }
}

TEST(AllreduceTraffic, NaiveSendsEverythingToEveryone) {
  for (int n = 1; n <= 16; ++n) {
    EXPECT_EQ(sent_by_all({"naive", naive_allreduce}, n, 100),
              100 * n * (n - 1));
  }
}

TEST(AllreduceTraffic, TreeSendsTheVectorUpAndDownEveryEdge) {
  for (int n = 1; n <= 16; ++n) {
    EXPECT_EQ(sent_by_all({"tree", tree_allreduce}, n, 100), 2 * 100 * (n - 1));
  }
  EXPECT_EQ(tree_allreduce({8, 0, 100, true, {}}).steps(), 6);
}

TEST(AllreduceTraffic, ButterflySendsAsMuchAsTheRingInFewerSteps) {
  for (int n : {2, 4, 8, 16}) {
    const int64_t count = int64_t{n} * 12;
    for (int r = 0; r < n; ++r) {
      Plan plan = butterfly_allreduce({n, r, count, true, {}});
      EXPECT_EQ(plan.elements_sent(), 2 * (n - 1) * count / n);
      EXPECT_EQ(1 << (plan.steps() / 2), n);
    }
  }
}

TEST(AllreduceTraffic, RecursiveDoublingSendsTheVectorInEachOfFewSteps) {
  for (int n : {2, 4, 8, 16}) {
    for (int r = 0; r < n; ++r) {
      Plan plan = recursive_doubling_allreduce({n, r, 100, true, {}});
      EXPECT_EQ(1 << plan.steps(), n);
      EXPECT_EQ(plan.elements_sent(), 100 * plan.steps());
    }
  }
}

// --- the ring, written out -----------------------------------------------

// Process p sends chunk p to process p+1 first: a0 goes from A to B, b1 from B
// to C. After three steps A holds all of chunk 1, B of 2, C of 3 and D of 0.
TEST(RingPlan, FourRanksInPlace) {
  auto text = [](int rank) {
    return ring_allreduce({4, rank, 8, true, {}}).to_string();
  };
  EXPECT_EQ(text(0),
            "step 0: send output[0,2) to 1\n"
            "step 0: recv_reduce output[6,8) from 3\n"
            "step 1: send output[6,8) to 1 after 1\n"
            "step 1: recv_reduce output[4,6) from 3\n"
            "step 2: send output[4,6) to 1 after 3\n"
            "step 2: recv_reduce output[2,4) from 3\n"
            "step 2: finish output[2,4) after 5\n"
            "step 3: send output[2,4) to 1 after 6\n"
            "step 3: recv output[0,2) from 3\n"
            "step 4: send output[0,2) to 1 after 8\n"
            "step 4: recv output[6,8) from 3\n"
            "step 5: send output[6,8) to 1 after 10\n"
            "step 5: recv output[4,6) from 3\n");
  EXPECT_EQ(text(1),
            "step 0: send output[2,4) to 2\n"
            "step 0: recv_reduce output[0,2) from 0\n"
            "step 1: send output[0,2) to 2 after 1\n"
            "step 1: recv_reduce output[6,8) from 0\n"
            "step 2: send output[6,8) to 2 after 3\n"
            "step 2: recv_reduce output[4,6) from 0\n"
            "step 2: finish output[4,6) after 5\n"
            "step 3: send output[4,6) to 2 after 6\n"
            "step 3: recv output[2,4) from 0\n"
            "step 4: send output[2,4) to 2 after 8\n"
            "step 4: recv output[0,2) from 0\n"
            "step 5: send output[0,2) to 2 after 10\n"
            "step 5: recv output[6,8) from 0\n");
  EXPECT_EQ(text(2),
            "step 0: send output[4,6) to 3\n"
            "step 0: recv_reduce output[2,4) from 1\n"
            "step 1: send output[2,4) to 3 after 1\n"
            "step 1: recv_reduce output[0,2) from 1\n"
            "step 2: send output[0,2) to 3 after 3\n"
            "step 2: recv_reduce output[6,8) from 1\n"
            "step 2: finish output[6,8) after 5\n"
            "step 3: send output[6,8) to 3 after 6\n"
            "step 3: recv output[4,6) from 1\n"
            "step 4: send output[4,6) to 3 after 8\n"
            "step 4: recv output[2,4) from 1\n"
            "step 5: send output[2,4) to 3 after 10\n"
            "step 5: recv output[0,2) from 1\n");
  EXPECT_EQ(text(3),
            "step 0: send output[6,8) to 0\n"
            "step 0: recv_reduce output[4,6) from 2\n"
            "step 1: send output[4,6) to 0 after 1\n"
            "step 1: recv_reduce output[2,4) from 2\n"
            "step 2: send output[2,4) to 0 after 3\n"
            "step 2: recv_reduce output[0,2) from 2\n"
            "step 2: finish output[0,2) after 5\n"
            "step 3: send output[0,2) to 0 after 6\n"
            "step 3: recv output[6,8) from 2\n"
            "step 4: send output[6,8) to 0 after 8\n"
            "step 4: recv output[4,6) from 2\n"
            "step 5: send output[4,6) to 0 after 10\n"
            "step 5: recv output[2,4) from 2\n");
}

TEST(RingPlan, OutOfPlaceAddsTheInputToWhatArrives) {
  EXPECT_EQ(ring_allreduce({2, 0, 4, false, {}}).to_string(),
            "step 0: send input[0,2) to 1\n"
            "step 0: recv output[2,4) from 1\n"
            "step 0: reduce input[2,4) into output[2,4) after 1\n"
            "step 0: finish output[2,4) after 2\n"
            "step 1: send output[2,4) to 1 after 3\n"
            "step 1: recv output[0,2) from 1\n");
}

// --- between hosts -------------------------------------------------------

TEST(SliceRing, ReducesItsSliceOverItsMembersAndTouchesNothingElse) {
  for (int hosts : {1, 2, 3, 5}) {
    // Members are every other rank; the ranks between have nothing to do.
    std::vector<int> members;
    for (int h = 0; h < hosts; ++h) members.push_back(2 * h + 1);
    for (Part slice : {Part{3, 10}, Part{0, 0}, Part{5, 1}}) {
      for (uint64_t seed = 0; seed < 8; ++seed) {
        std::vector<SimulatedRank> ranks(2 * hosts);
        std::vector<int64_t> sum(16, 0);
        for (int r = 0; r < 2 * hosts; ++r) {
          ranks[r].in_place = true;
          ranks[r].output.resize(16);
          std::iota(ranks[r].output.begin(), ranks[r].output.end(), 100 * r);
        }
        for (int r : members) {
          ranks[r].plan = slice_ring_allreduce(members, r, slice);
          for (int i = 0; i < 16; ++i) sum[i] += ranks[r].output[i];
        }
        ASSERT_EQ(simulate(ranks, {seed, 2, 1, seed % 4 >= 2}), "");
        for (int r : members) {
          for (int i = 0; i < 16; ++i) {
            bool in = i >= slice.offset && i < slice.offset + slice.count;
            EXPECT_EQ(ranks[r].output[i], in ? finished(sum[i]) : 100 * r + i);
          }
        }
      }
    }
  }
}

TEST(SliceOwners, TheSmallestHostSaysHowManySlices) {
  const std::vector<int> host_of = {7, 2, 7, 2, 7};
  SliceOwners owners = slice_owners(host_of, 2);
  EXPECT_EQ(owners.slices, 2);
  EXPECT_EQ(owners.index, 1);
  EXPECT_EQ(owners.members, (std::vector<int>{2, 3}));
  EXPECT_EQ(slice_owners(host_of, 1).members, (std::vector<int>{0, 1}));
  EXPECT_EQ(slice_owners(host_of, 4).slices, 2);
  EXPECT_EQ(slice_owners(host_of, 4).index, -1);
  EXPECT_TRUE(slice_owners(host_of, 4).members.empty());
}

}  // namespace
}  // namespace rondo
