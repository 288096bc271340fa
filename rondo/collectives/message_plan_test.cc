// The collectives other than allreduce, under the simulator's schedules.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_simulator.h"

namespace rondo {
namespace {

using Values = std::vector<int64_t>;
using Counts = std::vector<int64_t>;

// Element i of what rank r brings along for `part`.
int64_t value_of(int r, int64_t i, int part = 0) {
  return 1'000'003 * (r + 1) + 7919 * part + i;
}

Values input_of(int r, int64_t count) {
  Values values;
  for (int64_t i = 0; i < count; ++i) values.push_back(value_of(r, i));
  return values;
}

int64_t sum_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// Counts of all sorts: equal, and different with empty ones among them.
std::vector<Counts> counts_for(int n) {
  std::vector<Counts> all;
  for (int64_t each : {0, 1, 5, 100 / n}) all.push_back(Counts(n, each));
  Counts mixed;
  for (int r = 0; r < n; ++r) mixed.push_back(r * 7 % 5);
  all.push_back(mixed);
  return all;
}

const std::vector<int> kSizes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16};

std::vector<int64_t> sizes_for(int n) {
  return {0, 1, n - 1, n, n + 1, 3 * n + 1, 100};
}

// Runs what `make` gives under several schedules, and then `check` on each.
void run(int n, const std::function<SimulatedRank(int rank)>& make,
         const std::function<void(int rank, const SimulatedRank&)>& check) {
  for (uint64_t seed = 0; seed < 2; ++seed) {
    for (int way = 0; way < 4; ++way) {
      SCOPED_TRACE(testing::Message()
                   << "n " << n << " seed " << seed << " way " << way);
      std::vector<SimulatedRank> ranks;
      for (int r = 0; r < n; ++r) ranks.push_back(make(r));
      ASSERT_EQ(simulate(ranks, {seed, 2 + way % 2, way % 2, way > 1, 1 + way}),
                "");
      for (int r = 0; r < n; ++r) check(r, ranks[r]);
      if (testing::Test::HasFailure()) return;
    }
  }
}

Plan answered_tree_broadcast(int n, int rank, int root, int64_t count) {
  return with_answers(tree_broadcast(n, rank, root, count));
}

Plan answered_ring_broadcast(int n, int rank, int root, int64_t count) {
  return with_answers(scatter_ring_broadcast(n, rank, root, count));
}

void check_broadcast(Plan (*plan)(int, int, int, int64_t)) {
  for (int n : kSizes) {
    for (int64_t count : sizes_for(n)) {
      for (int root = 0; root < n; ++root) {
        SCOPED_TRACE(testing::Message()
                     << "count " << count << " root " << root);
        run(
            n,
            [&](int r) {
              return SimulatedRank{
                  plan(n, r, root, count), {}, input_of(r, count), false};
            },
            [&](int, const SimulatedRank& rank) {
              EXPECT_EQ(rank.output, input_of(root, count));
            });
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Broadcast, TreeReachesAll) {
  check_broadcast(tree_broadcast);
  check_broadcast(answered_tree_broadcast);
}

TEST(Broadcast, ScatterAndRingReachAll) {
  check_broadcast(scatter_ring_broadcast);
  check_broadcast(answered_ring_broadcast);
}

TEST(Broadcast, TreeTakesLogarithmicallyManySteps) {
  int last = 0;
  for (int r = 0; r < 9; ++r) {
    for (const Action& action : tree_broadcast(9, r, 4, 1).actions) {
      last = std::max(last, action.step);
    }
  }
  EXPECT_EQ(last + 1, 4);
}

TEST(Broadcast, RingSpreadsTheWork) {
  const int64_t count = 80;
  for (int r = 0; r < 8; ++r) {
    EXPECT_LE(scatter_ring_broadcast(8, r, 3, count).elements_sent(),
              2 * count * 7 / 8);
  }
  EXPECT_EQ(tree_broadcast(8, 3, 3, count).elements_sent(), 3 * count);
}

TEST(Reduce, SumLandsInRootsOutputOnly) {
  for (int n : kSizes) {
    for (int64_t count : sizes_for(n)) {
      Values sum(count, 0);
      for (int r = 0; r < n; ++r) {
        for (int64_t i = 0; i < count; ++i) sum[i] += value_of(r, i);
      }
      for (int64_t& value : sum) value = finished(value);
      for (int root = 0; root < n; ++root) {
        // In place matters on the root alone; segments of 4 use scratch again.
        for (bool in_place : {false, true}) {
          int64_t segment = root % 2 == 0 ? 4 : 1000;
          SCOPED_TRACE(testing::Message() << "count " << count << " root "
                                          << root << " in place " << in_place);
          run(
              n,
              [&](int r) {
                Plan plan = tree_reduce(n, r, root, count, in_place, segment);
                if (root % 3 > 0) plan = with_answers(std::move(plan));
                bool both = in_place && r == root;
                // Elsewhere there is no output at all.
                Values output = both        ? input_of(r, count)
                                : r == root ? Values(count, -1)
                                            : Values{};
                Values input = both ? Values{} : input_of(r, count);
                return SimulatedRank{plan, input, output, both};
              },
              [&](int r, const SimulatedRank& rank) {
                if (r == root) {
                  EXPECT_EQ(rank.output, sum);
                }
                if (!rank.in_place) {
                  EXPECT_EQ(rank.input, input_of(r, count));
                }
              });
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(Reduce, LongVectorsNeedLittleScratch) {
  for (int r = 0; r < 8; ++r) {
    Plan plan = tree_reduce(8, r, 0, (int64_t{1} << 32) + 1, true);
    EXPECT_LE(plan.scratch * 8, int64_t{64} << 20);
  }
}

TEST(Allgather, EveryoneHasAllParts) {
  for (int n : kSizes) {
    for (const Counts& counts : counts_for(n)) {
      Values all;
      std::vector<int64_t> offset;
      for (int r = 0; r < n; ++r) {
        offset.push_back(static_cast<int64_t>(all.size()));
        Values part = input_of(r, counts[r]);
        all.insert(all.end(), part.begin(), part.end());
      }
      for (bool in_place : {false, true}) {
        run(
            n,
            [&](int r) {
              SimulatedRank rank;
              rank.plan = ring_allgather(n, r, counts, in_place);
              rank.output.assign(all.size(), -1);
              Values part = input_of(r, counts[r]);
              if (in_place) {
                std::copy(part.begin(), part.end(),
                          rank.output.begin() + offset[r]);
              } else {
                rank.input = part;
              }
              return rank;
            },
            [&](int, const SimulatedRank& rank) {
              EXPECT_EQ(rank.output, all);
            });
        if (HasFailure()) return;
      }
    }
  }
}

TEST(ReduceScatter, EveryoneHasItsPartOfTheSum) {
  for (int n : kSizes) {
    for (const Counts& counts : counts_for(n)) {
      const int64_t total = sum_of(counts);
      Values sum(total, 0);
      for (int r = 0; r < n; ++r) {
        for (int64_t i = 0; i < total; ++i) sum[i] += value_of(r, i);
      }
      for (int64_t& value : sum) value = finished(value);
      // Enough scratch, and so little that the slots are used several times.
      for (int64_t scratch : {int64_t{1000}, int64_t{2} * n, int64_t{1}}) {
        run(
            n,
            [&](int r) {
              return SimulatedRank{ring_reduce_scatter(n, r, counts, scratch),
                                   input_of(r, total), Values(counts[r], -1),
                                   false};
            },
            [&](int r, const SimulatedRank& rank) {
              auto from =
                  sum.begin() + std::accumulate(counts.begin(),
                                                counts.begin() + r, int64_t{0});
              EXPECT_EQ(rank.output, Values(from, from + counts[r]));
              EXPECT_EQ(rank.input, input_of(r, total));
            });
        if (HasFailure()) return;
      }
    }
  }
}

TEST(ReduceScatter, LongVectorsNeedLittleScratch) {
  for (int n : {3, 8}) {
    Plan plan = ring_reduce_scatter(n, 1, Counts(n, int64_t{1} << 30));
    EXPECT_LE(plan.scratch * 8, int64_t{64} << 20);
    EXPECT_EQ(plan.elements_sent(), (n - 1) * (int64_t{1} << 30));
  }
}

TEST(Gather, RootHasAllPartsAndScatterGivesThemBack) {
  for (int n : kSizes) {
    for (const Counts& counts : counts_for(n)) {
      Values all;
      for (int r = 0; r < n; ++r) {
        Values part = input_of(r, counts[r]);
        all.insert(all.end(), part.begin(), part.end());
      }
      for (int root = 0; root < n; ++root) {
        run(
            n,
            [&](int r) {
              return SimulatedRank{
                  with_answers(linear_gather(n, r, root, counts)),
                  input_of(r, counts[r]),
                  r == root ? Values(all.size(), -1) : Values{}, false};
            },
            [&](int r, const SimulatedRank& rank) {
              if (r == root) {
                EXPECT_EQ(rank.output, all);
              }
            });
        run(
            n,
            [&](int r) {
              return SimulatedRank{
                  with_answers(linear_scatter(n, r, root, counts)),
                  r == root ? all : Values{}, Values(counts[r], -1), false};
            },
            [&](int r, const SimulatedRank& rank) {
              EXPECT_EQ(rank.output, input_of(r, counts[r]));
            });
        if (HasFailure()) return;
      }
    }
  }
}

// Whom a rank sends to and whom it receives from.
std::pair<std::set<int>, std::set<int>> partners_of(const Plan& plan) {
  std::set<int> to, from;
  for (const Action& action : plan.actions)
    if (is_message(action.kind))
      (action.kind == ActionKind::kSend ? to : from).insert(action.peer);
  return {to, from};
}

TEST(Answers, ComeFromEverybodyAndCostNothing) {
  for (int n : kSizes) {
    const Counts counts(n, 5);
    for (int r = 0; r < n; ++r) {
      for (const Plan& plan :
           {tree_broadcast(n, r, n / 2, 5), scatter_ring_broadcast(n, r, 0, 5),
            tree_reduce(n, r, n / 2, 5, false), linear_gather(n, r, 0, counts),
            linear_scatter(n, r, n - 1, counts)}) {
        const Plan answered = with_answers(plan);
        const auto [to, from] = partners_of(answered);
        EXPECT_EQ(to, from);
        EXPECT_EQ(answered.elements_sent(), plan.elements_sent());
        // What the plan itself says comes first, and is not changed.
        Plan front = answered;
        front.actions.resize(plan.actions.size());
        EXPECT_EQ(front, plan);
        EXPECT_EQ(with_answers(answered), answered);
      }
    }
  }
}

TEST(AllToAll, BlocksChangePlaces) {
  for (int n : kSizes) {
    // How many elements rank s has for rank d.
    const std::vector<std::function<int64_t(int, int)>> tables = {
        [](int, int) { return int64_t{0}; },
        [](int, int) { return int64_t{5}; },
        [](int s, int d) { return int64_t{(3 * s + d) % 4}; },
    };
    for (const auto& count : tables) {
      run(
          n,
          [&](int r) {
            SimulatedRank rank;
            Counts send, recv;
            for (int k = 0; k < n; ++k) {
              send.push_back(count(r, k));
              recv.push_back(count(k, r));
              for (int64_t i = 0; i < send[k]; ++i) {
                rank.input.push_back(value_of(r, i, k));
              }
            }
            rank.plan = pairwise_all_to_all(n, r, send, recv);
            rank.output.assign(sum_of(recv), -1);
            return rank;
          },
          [&](int r, const SimulatedRank& rank) {
            Values expected;
            for (int s = 0; s < n; ++s) {
              for (int64_t i = 0; i < count(s, r); ++i) {
                expected.push_back(value_of(s, i, r));
              }
            }
            EXPECT_EQ(rank.output, expected);
          });
      if (HasFailure()) return;
    }
  }
}

// Nobody passes while one rank stays away.
TEST(Barrier, HoldsEveryoneUntilTheLast) {
  for (int n : kSizes) {
    run(
        n,
        [&](int r) {
          return SimulatedRank{dissemination_barrier(n, r), {}, {}, false};
        },
        [](int, const SimulatedRank&) {});
    // Who passes the barrier finishes its one element, 0, and shows it.
    for (int absent = 0; absent < n; ++absent) {
      std::vector<SimulatedRank> ranks;
      for (int r = 0; r < n; ++r) {
        SimulatedRank rank{{}, {}, {0}, true};
        if (r != absent) {
          rank.plan = dissemination_barrier(n, r);
          rank.plan.join();
          rank.plan.finish({Buffer::kOutput, 0, 1}, 99);
        }
        ranks.push_back(rank);
      }
      std::string error = simulate(ranks, {static_cast<uint64_t>(absent)});
      EXPECT_EQ(error.empty(), n == 1);
      for (const SimulatedRank& rank : ranks) EXPECT_EQ(rank.output[0], 0);
    }
  }
}

TEST(Barrier, TakesLogarithmicallyManySteps) {
  EXPECT_EQ(dissemination_barrier(1, 0).steps(), 0);
  EXPECT_EQ(dissemination_barrier(8, 3).steps(), 3);
  EXPECT_EQ(dissemination_barrier(9, 3).steps(), 4);
}

}  // namespace
}  // namespace rondo
