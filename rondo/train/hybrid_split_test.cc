#include "rondo/train/hybrid_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace rondo {
namespace {

using ::testing::ElementsAre;

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
