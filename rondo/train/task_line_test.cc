#include "rondo/train/task_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace rondo {
namespace {

using ::testing::ElementsAre;

TEST(TaskLine, DoesTasksInTheirOrderAndDrains) {
  std::vector<int> done;
  TaskLine line;
  std::promise<void> gate;
  line.add([&] {
    gate.get_future().wait();
    done.push_back(0);
  });
  for (const int i : {1, 2, 3}) line.add([&done, i] { done.push_back(i); });
  EXPECT_FALSE(line.idle());
  gate.set_value();
  line.drain();
  EXPECT_TRUE(line.idle());
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3));
  line.drain();
}

TEST(TaskLine, DoesWhatIsLeftBeforeItEnds) {
  int done = 0;
  {
    TaskLine line;
    for (int i = 0; i < 100; ++i) line.add([&done] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace rondo
