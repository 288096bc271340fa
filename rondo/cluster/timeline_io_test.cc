#include "rondo/cluster/timeline_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/cluster/part_io.h"

namespace rondo {
namespace {

TEST(TimelineIo, EventsComeBackWithinTheCall) {
  Timeline here;
  const double sent = here.now_us();
  Timeline there;
  const auto now = Clock::now();
  there.add("matmul", "MatMul", now, now + std::chrono::microseconds(5),
            "/job:ps/task:0/cpu:0", {8, 16});
  ASSERT_TRUE(add_timeline(timeline_to_tensor(there), sent, here).ok());
  const auto events = here.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].node, "matmul");
  EXPECT_EQ(events[0].op, "MatMul");
  EXPECT_EQ(events[0].device, "/job:ps/task:0/cpu:0");
  EXPECT_DOUBLE_EQ(events[0].us, 5);
  EXPECT_THAT(events[0].bytes, testing::ElementsAre(8, 16));
  EXPECT_GE(events[0].start_us, sent);
  EXPECT_LE(events[0].start_us, here.now_us());
}

TEST(TimelineIo, RefusesWhatIsNotWhole) {
  Timeline there;
  there.add({.node = "a", .op = "b", .device = "c", .bytes = {1}});
  const Tensor whole = timeline_to_tensor(there);
  const auto bytes = bytes_of(whole).value();
  for (size_t n = 0; n < bytes.size(); ++n) {
    Timeline here;
    EXPECT_FALSE(add_timeline(bytes_tensor(bytes.substr(0, n)), 0, here).ok());
    EXPECT_TRUE(here.events().empty());
  }
}

}  // namespace
}  // namespace rondo
