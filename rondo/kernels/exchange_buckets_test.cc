#include "rondo/kernels/exchange_buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<ExchangeUnit> of_bytes(const std::vector<int64_t>& bytes) {
  std::vector<ExchangeUnit> units;
  for (const int64_t each : bytes)
    units.push_back(
        {.sequence = static_cast<int64_t>(units.size()), .bytes = each});
  return units;
}

TEST(ExchangeBuckets, HaveWhatFitsBehindAFirstOneThatIsAlone) {
  EXPECT_THAT(buckets_of(of_bytes({1, 4, 4, 3, 10, 1, 1}), 10),
              ElementsAre(Pair(0, 0), Pair(1, 2), Pair(2, 2), Pair(3, 3),
                          Pair(4, 4), Pair(5, 6), Pair(6, 6)));
}

TEST(ExchangeBuckets, AreAloneWithoutALimit) {
  EXPECT_THAT(buckets_of(of_bytes({1, 1, 1}), 0),
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2)));
}

TEST(ExchangeBuckets, EndWhereAnotherKindOfExchangeComes) {
  // 0 and 3 are none: numbers of others, such as factors.
  auto units = of_bytes({0, 1, 1, 0, 1, 1, 1, 1});
  units[6].dtype = DType::kF64;
  units[7].terms.average = false;
  EXPECT_THAT(buckets_of(units, 100),
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2), Pair(3, 3),
                          Pair(4, 5), Pair(5, 5), Pair(6, 6), Pair(7, 7)));
}

TEST(ExchangeBuckets, EndWithTheirFamily) {
  auto units = of_bytes({1, 1, 1, 1, 1});
  units[3].family = units[4].family = 3;
  EXPECT_THAT(
      buckets_of(units, 100),
      ElementsAre(Pair(0, 0), Pair(1, 2), Pair(2, 2), Pair(3, 4), Pair(4, 4)));
}

}  // namespace
}  // namespace rondo
