#include "rondo/train/hybrid_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace rondo {
namespace {

using ::testing::ElementsAre;

TEST(HybridSplit, TakesTheLeastTime) {
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

TEST(HybridSplit, WithoutServersItIsTheRingAndWithManyItIsServers) {
  EXPECT_EQ(server_share(4, 0), 0);
  EXPECT_DOUBLE_EQ(sent_share(4, 0), 1.5);
  EXPECT_DOUBLE_EQ(server_share(2, 1), 0.5);
  for (const int servers : {4, 5, 100}) EXPECT_EQ(server_share(4, servers), 1);
  EXPECT_EQ(sent_share(4, 1), 1);
  // Alone, a rank has nothing to reduce.
  EXPECT_EQ(server_share(1, 1), 0);
}

TEST(HybridSplit, ElementsAreCutAtLinesAndSomeAreLeft) {
  EXPECT_EQ(served_elements(1024, DType::kF32, 0.5), 512);
  EXPECT_EQ(served_elements(1000, DType::kF32, 0.5), 1000 - 512);
  EXPECT_EQ(served_elements(1000, DType::kBF16, 0.5), 1000 - 512);
  EXPECT_EQ(served_elements(1000, DType::kF64, 0.5), 1000 - 504);
  EXPECT_EQ(served_elements(1000, DType::kF32, 0), 0);
  EXPECT_EQ(served_elements(1000, DType::kF32, 1), 1000 - 16);
  for (const int64_t count : {0, 1, 16})
    EXPECT_EQ(served_elements(count, DType::kF32, 1), 0);
}

Tensor counting(int64_t count, float first) {
  Tensor tensor = Tensor::empty({count});
  std::iota(tensor.span<float>().begin(), tensor.span<float>().end(), first);
  return tensor;
}

std::vector<int64_t> counts(const HybridSplit& split) {
  std::vector<int64_t> found;
  for (const View& view : split.ranks) found.push_back(view.count);
  return found;
}

TEST(HybridSplit, APieceOfOneTensorStaysWhereItIs) {
  Tensor tensors[] = {counting(3, 0), counting(4, 3)};
  const HybridSplit split = split_bucket(tensors, 3);
  EXPECT_THAT(counts(split), ElementsAre(3, 1));
  EXPECT_FALSE(split.copied);
  EXPECT_EQ(split.servers.data(), tensors[1].span<float>().data() + 1);
  EXPECT_THAT(split.servers.span<float>(), ElementsAre(4, 5, 6));
}

TEST(HybridSplit, PiecesOfSeveralTensorsComeBack) {
  Tensor tensors[] = {counting(3, 0), counting(0, 0), counting(2, 3),
                      counting(2, 5)};
  HybridSplit split = split_bucket(tensors, 5);
  EXPECT_THAT(counts(split), ElementsAre(2));
  EXPECT_THAT(split.servers.span<float>(), ElementsAre(2, 3, 4, 5, 6));
  for (float& x : split.servers.span<float>()) x *= 10;
  put_back(split, tensors);
  EXPECT_THAT(tensors[0].span<float>(), ElementsAre(0, 1, 20));
  EXPECT_THAT(tensors[2].span<float>(), ElementsAre(30, 40));
  EXPECT_THAT(tensors[3].span<float>(), ElementsAre(50, 60));
}

}  // namespace
}  // namespace rondo
