#include "rondo/runtime/contention.h"

#include <gmock/gmock.h>

#include <array>

namespace rondo {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

TEST(Contention, IsWhatSeveralTakeOverWhatOneTakes) {
  EXPECT_THAT(contention_of(std::array{2.0, 3.0, 5.0}),
              ElementsAre(DoubleEq(1.5), DoubleEq(2.5)));
  EXPECT_THAT(contention_of(std::array{2.0}), ElementsAre());
  EXPECT_THAT(contention_of({}), ElementsAre());
}

TEST(Contention, IsBetweenNoneAndOneAfterTheOther) {
  // A machine that was busy while one ran, and while three ran.
  EXPECT_THAT(contention_of(std::array{2.0, 1.0, 9.0}),
              ElementsAre(DoubleEq(1), DoubleEq(3)));
  // Nobody is the faster for one more.
  EXPECT_THAT(contention_of(std::array{2.0, 3.0, 2.5}),
              ElementsAre(DoubleEq(1.5), DoubleEq(1.5)));
}

TEST(Contention, IsMeasuredForEachNumberOfNodes) {
  EXPECT_THAT(measure_contention(3, 1), testing::SizeIs(2));
  EXPECT_THAT(measure_contention(1, 1), testing::IsEmpty());
}

}  // namespace
}  // namespace rondo
