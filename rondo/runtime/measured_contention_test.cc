#include "rondo/runtime/measured_contention.h"

#include <gmock/gmock.h>

namespace rondo {
namespace {

using testing::ElementsAre;

TEST(MeasuredContention, IsTheMiddleOneForEachNumberOfNodes) {
  MeasuredContention contention;
  EXPECT_THAT(contention.middle(), ElementsAre());
  contention.add({1.8, 2.4});
  EXPECT_THAT(contention.middle(), ElementsAre(1.8, 2.4));
  contention.add({1.0, 3.0});
  contention.add({1.7, 2.5});
  contention.add({1.9});
  contention.add({});
  EXPECT_THAT(contention.middle(), ElementsAre(1.8, 2.5));
}

TEST(MeasuredContention, IsNotLessForOneMore) {
  // Where there were threads for three just once, while the machine was idle.
  MeasuredContention contention;
  for (const double two : {1.8, 2.0}) contention.add({two});
  contention.add({1.0, 1.5});
  EXPECT_THAT(contention.middle(), ElementsAre(1.8, 1.8));
}

TEST(MeasuredContention, IsThatOfTheLastFew) {
  MeasuredContention contention;
  for (int i = 0; i < 100; ++i) contention.add({1.9});
  for (int i = 0; i < 5; ++i) contention.add({1.2});
  EXPECT_THAT(contention.middle(), ElementsAre(1.2));
}

}  // namespace
}  // namespace rondo
