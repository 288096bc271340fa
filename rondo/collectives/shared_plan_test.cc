// The allreduces in the memory that a host's ranks share, under the simulator's
// schedules.
#include <gtest/gtest.h>

#include <algorithm>

#include "rondo/collectives/direct_plans.h"
#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_simulator.h"

namespace rondo {
namespace {

// Runs an allreduce of ranks on these hosts under several schedules. Hosts
// whose number is in `apart` cannot reach each other's buffers.
void run(Plan (*plan)(const AllreduceArgs&), const std::vector<int>& host_of,
         int64_t count, const std::vector<int>& apart = {}) {
  const int n = static_cast<int>(host_of.size());
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (bool in_place : {true, false}) {
      SCOPED_TRACE(testing::Message()
                   << "n " << n << " count " << count << " seed " << seed
                   << " in place " << in_place);
      std::vector<SimulatedRank> ranks(n);
      std::vector<int64_t> expected(count, 0);
      for (int r = 0; r < n; ++r) {
        AllreduceArgs args{n, r, count, in_place, host_of};
        args.unit = 2;
        args.shared_buffers =
            std::find(apart.begin(), apart.end(), host_of[r]) == apart.end();
        ranks[r].plan = plan(args);
        ranks[r].host = host_of[r];
        ranks[r].in_place = in_place;
        ranks[r].output.assign(count, -1);
        std::vector<int64_t>& input =
            in_place ? ranks[r].output : ranks[r].input;
        input.resize(count);
        for (int64_t i = 0; i < count; ++i) {
          input[i] = 1'000'003 * (r + 1) + i;
          expected[i] += input[i];
        }
      }
      for (int64_t& value : expected) value = finished(value);
      ASSERT_EQ(simulate(ranks, {seed, 2, static_cast<int64_t>(seed % 2),
                                 seed >= 3, 1 + static_cast<int>(seed % 3)}),
                "");
      for (int r = 0; r < n; ++r) ASSERT_EQ(ranks[r].output, expected);
    }
  }
}

TEST(DirectPlan, IsRightUnderAnyLegalSchedule) {
  for (int n = 1; n <= 9; ++n) {
    for (int64_t count : {0, 1, n - 1, n, n + 1, 3 * n + 1, 100}) {
      run(direct_allreduce, std::vector<int>(n, 0), count);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(HierarchicalPlan, IsRightUnderAnyLegalSchedule) {
  const std::vector<std::vector<int>> jobs = {
      {0},          {0, 0},          {0, 1},          {0, 0, 1, 1},
      {0, 1, 0, 1}, {0, 0, 0, 1, 1}, {3, 1, 1, 3, 2}, {0, 0, 1, 1, 2, 2, 2},
  };
  for (const std::vector<int>& host_of : jobs) {
    const int n = static_cast<int>(host_of.size());
    for (int64_t count : {0, 1, n - 1, n, n + 1, 3 * n + 1, 100}) {
      run(hierarchical_allreduce, host_of, count);
      run(hierarchical_allreduce, host_of, count, {0, 1, 2, 3});
      run(hierarchical_allreduce, host_of, count, {1});
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace rondo
