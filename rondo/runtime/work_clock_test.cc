#include "rondo/runtime/work_clock.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

using Time = WorkClock::Run;

TEST(WorkClock, TwoAtOnce) {
  const std::vector<double> contention = {2};
  const Time a{1, 5}, b{3, 6};
  const WorkClock clock({a, b}, contention);
  EXPECT_DOUBLE_EQ(clock.alone(a), 2 + 1);
  EXPECT_DOUBLE_EQ(clock.alone(b), 1 + 1);
}

TEST(WorkClock, MoreThanWereMeasured) {
  const std::vector<double> contention = {2, 4};
  const Time all{0, 8};
  const WorkClock clock({all, all, all, all}, contention);
  EXPECT_DOUBLE_EQ(clock.alone(all), 2);
}

TEST(WorkClock, OneAfterTheOther) {
  const std::vector<double> contention = {2};
  const WorkClock clock({{0, 2}, {2, 3}}, contention);
  EXPECT_DOUBLE_EQ(clock.alone({0, 2}), 2);
  EXPECT_DOUBLE_EQ(clock.alone({2, 3}), 1);
}

TEST(WorkClock, NobodySlowsNobody) {
  const WorkClock clock({{0, 2}, {0, 3}}, {});
  EXPECT_DOUBLE_EQ(clock.alone({0, 2}), 2);
}

}  // namespace
}  // namespace rondo
