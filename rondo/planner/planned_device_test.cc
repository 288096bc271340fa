#include "rondo/planner/planned_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(PlannedDevice, TrainingGetsAShareOfThePeaks) {
  const PlannedDevice a100 = find_device("a100").value();
  EXPECT_NEAR(a100.rates(false).flops_per_s, 0.4 * 156e12, 1);
  EXPECT_NEAR(a100.rates(true).flops_per_s, 0.4 * 312e12, 1);
  EXPECT_NEAR(a100.rates(true).bytes_per_s, 0.75 * 2039e9, 1);
  EXPECT_NEAR(a100.sustained_link(), 0.8 * 300e9, 1);
  // Which has tensor cores only for half precision.
  const PlannedDevice v100 = find_device("v100").value();
  EXPECT_NEAR(v100.rates(false).flops_per_s, 0.7 * 15.7e12, 1);
  EXPECT_NEAR(v100.rates(true).flops_per_s, 0.4 * 125e12, 1);
}

TEST(PlannedDevice, AnUnknownOneIsAnsweredWithThoseThatThereAre) {
  EXPECT_THAT(find_device("z80").status().message(),
              AllOf(HasSubstr("--device z80"), HasSubstr("cpu, t4, v100"),
                    HasSubstr("h200"), HasSubstr("--flops 10T")));
}

}  // namespace
}  // namespace rondo
