#include "rondo/planner/link_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "rondo/collectives/spawn_ranks.h"

namespace rondo {
namespace {

TEST(LinkProbe, EverybodyMeetsEverybodyOnce) {
  for (int n = 2; n <= 9; ++n) {
    std::set<std::pair<int, int>> met;
    for (int round = 0; round < rounds_of_pairs(n); ++round) {
      int alone = 0;
      for (int host = 0; host < n; ++host) {
        const int peer = peer_in_round(host, round, n);
        alone += peer < 0;
        if (peer < 0) continue;
        ASSERT_LT(peer, n);
        ASSERT_NE(peer, host);
        EXPECT_EQ(peer_in_round(peer, round, n), host);
        EXPECT_TRUE(met.emplace(host, peer).second) << n << " " << round;
      }
      EXPECT_EQ(alone, n % 2);
    }
    EXPECT_EQ(met.size(), static_cast<size_t>(n * (n - 1)));
  }
}

TEST(LinkProbe, MeasuresEveryPair) {
  std::mutex mutex;
  std::vector<LinkSurvey> found;
  spawn_ranks("tcp", 3, [&](Communicator& comm) {
    const auto survey = probe_links(comm, {.seconds = 0.01, .pings = 20});
    ASSERT_TRUE(survey.ok()) << survey.status().message();
    const std::scoped_lock lock(mutex);
    found.push_back(*survey);
  });
  ASSERT_EQ(found.size(), 3u);
  const LinkSurvey& survey = found[0];
  ASSERT_EQ(survey.hosts.size(), 3u);
  EXPECT_FALSE(survey.hosts[2].empty());
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(survey.rates[3 * i + j] > 0, i != j);
      EXPECT_EQ(survey.latencies[3 * i + j] > 0, i != j);
      EXPECT_EQ(survey.rates[3 * i + j], survey.rates[3 * j + i]);
    }
  for (const LinkSurvey& other : found) EXPECT_EQ(other.rates, survey.rates);
}

TEST(LinkProbe, MeasuresSomePairsOfMany) {
  spawn_ranks("tcp", 4, [&](Communicator& comm) {
    const auto survey =
        probe_links(comm, {.seconds = 0.005, .pings = 10, .most_rounds = 1});
    ASSERT_TRUE(survey.ok()) << survey.status().message();
    EXPECT_EQ(std::ranges::count_if(survey->rates,
                                    [](double rate) { return rate > 0; }),
              4);
    EXPECT_GT(survey->link(), 0);
  });
}

TEST(LinkProbe, OneHostHasNone) {
  spawn_ranks("tcp", 1, [&](Communicator& comm) {
    EXPECT_THAT(probe_links(comm).status().message(),
                ::testing::HasSubstr("two at least"));
  });
}

}  // namespace
}  // namespace rondo
