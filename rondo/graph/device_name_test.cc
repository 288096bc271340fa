#include "rondo/graph/device_name.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

DeviceName device(std::string_view text) {
  return DeviceName::parse(text).value();
}

TEST(DeviceName, ReadsWholeAndPartialNames) {
  const DeviceName full = device("/job:worker/task:1/cpu:0");
  EXPECT_EQ(full.job, "worker");
  EXPECT_EQ(full.task, 1);
  EXPECT_EQ(full.type, "cpu");
  EXPECT_EQ(full.index, 0);
  EXPECT_EQ(device("/job:worker/replica:0/task:1/device:CPU:0"), full);
  EXPECT_EQ(device("/gpu:1").to_string(), "/gpu:1");
  EXPECT_EQ(device("").to_string(), "");
}

TEST(DeviceName, RefusesWhatIsNone) {
  for (const char* bad :
       {"cpu:0", "/tpu:0", "/task:x", "/job:", "/cpu:-1", "/"})
    EXPECT_FALSE(DeviceName::parse(bad).ok()) << bad;
}

TEST(DeviceName, InnerNamesReplaceTheirParts) {
  const DeviceName outer = device("/job:ps/task:0/cpu:0");
  EXPECT_EQ(outer.refined_by(device("/task:2")).to_string(),
            "/job:ps/task:2/cpu:0");
  EXPECT_EQ(outer.refined_by(device("/gpu")).to_string(), "/job:ps/task:0/gpu");
}

TEST(DeviceName, MatchesWhatItLeavesOpen) {
  EXPECT_TRUE(device("/job:ps").matches(device("/job:ps/task:3/cpu:0")));
  EXPECT_FALSE(device("/job:ps").matches(device("/job:worker/task:3/cpu:0")));
  EXPECT_TRUE(device("").matches(device("/cpu:0")));
  EXPECT_FALSE(device("/cpu:1").matches(device("/cpu:0")));
}

}  // namespace
}  // namespace rondo
