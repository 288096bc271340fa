#include "rondo/train/server_share.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rondo {
namespace {

TEST(ServerShare, TakesTheLeastTime) {
  for (int ranks = 2; ranks <= 8; ++ranks)
    for (int servers = 0; servers <= ranks; ++servers) {
      const double n = ranks;
      const double k = servers;
      // Of one byte over links of one byte a second.
      const auto time = [&](double share) {
        const double at_server = servers == 0 ? 0 : n * share / k;
        return std::max(sent_share(ranks, share), at_server);
      };
      const double share = server_share(ranks, servers);
      const double least = 2 * n * (n - 1) / (n * n + k * n - 2 * k);
      EXPECT_NEAR(time(share), least, 1e-12) << ranks << " " << servers;
      for (const double other : {0.0, share - 0.01, share + 0.01, 1.0})
        if (other >= 0 && other <= 1 && servers > 0) {
          EXPECT_LE(least, time(other) + 1e-12) << ranks << " " << servers;
        }
    }
}

TEST(ServerShare, WithoutServersItIsTheRingAndWithManyItIsServers) {
  EXPECT_EQ(server_share(4, 0), 0);
  EXPECT_DOUBLE_EQ(sent_share(4, 0), 1.5);
  EXPECT_DOUBLE_EQ(server_share(2, 1), 0.5);
  for (const int servers : {4, 5, 100}) EXPECT_EQ(server_share(4, servers), 1);
  EXPECT_EQ(sent_share(4, 1), 1);
  // Alone, a rank has nothing to reduce.
  EXPECT_EQ(server_share(1, 1), 0);
}

TEST(ServerShare, ElementsAreCutAtLinesAndSomeAreLeft) {
  EXPECT_EQ(served_elements(1024, DType::kF32, {.share = 0.5}), 512);
  EXPECT_EQ(served_elements(1000, DType::kF32, {.share = 0.5}), 1000 - 512);
  EXPECT_EQ(served_elements(1000, DType::kBF16, {.share = 0.5}), 1000 - 512);
  EXPECT_EQ(served_elements(1000, DType::kF64, {.share = 0.5}), 1000 - 504);
  EXPECT_EQ(served_elements(1000, DType::kF32, {.share = 0}), 0);
  EXPECT_EQ(served_elements(1000, DType::kF32, {.share = 1}), 1000 - 16);
  for (const int64_t count : {0, 1, 16})
    EXPECT_EQ(served_elements(count, DType::kF32, {.share = 1}), 0);
}

// 4 ranks and 2 servers save 0.3 of a bucket's bytes, of 1.5; 4 parts come
// first.
TEST(ServerShare, SmallBucketsAreTheRanksAlone) {
  const ServerShare best = best_server_share(4, 2);
  EXPECT_DOUBLE_EQ(best.share, server_share(4, 2));
  EXPECT_NEAR(best.least_bytes, 4 * kServedPart / 0.3, 1);
  EXPECT_EQ(best.of(best.least_bytes - 1), 0);
  EXPECT_EQ(best.of(best.least_bytes), best.share);
  const auto count = static_cast<int64_t>(best.least_bytes) / 4;
  EXPECT_EQ(served_elements(count - 1, DType::kF32, best), 0);
  EXPECT_GT(served_elements(count + 1, DType::kF32, best), count / 2);
}

TEST(ServerShare, TwoRanksNeedNoServers) {
  for (const int servers : {0, 1, 2, 3})
    EXPECT_EQ(best_server_share(2, servers), ServerShare()) << servers;
  EXPECT_EQ(best_server_share(4, 0), ServerShare());
}

}  // namespace
}  // namespace rondo
