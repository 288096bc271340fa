#include "rondo/runtime/contention.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(Contention, IsBetweenNoneAndOneAfterTheOther) {
  const std::vector<double> slower = measure_contention(3, 1);
  ASSERT_EQ(slower.size(), 2u);
  EXPECT_GE(slower[0], 1);
  EXPECT_LE(slower[0], 2);
  EXPECT_GE(slower[1], slower[0]);
  EXPECT_LE(slower[1], 3);
}

TEST(Contention, OneNodeHasNone) {
  EXPECT_TRUE(measure_contention(1, 1).empty());
}

}  // namespace
}  // namespace rondo
