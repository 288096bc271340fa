#include "rondo/cluster/reader_rest.h"

#include <gtest/gtest.h>

#include <thread>

namespace rondo {
namespace {

class ReaderRestTest : public testing::Test {
 protected:
  void wait_for_some() {
    for (int i = 0; i < 10; ++i) rest_.waits();
  }

  std::atomic<bool> expects_ = false;
  ReaderRest rest_;
};

TEST_F(ReaderRestTest, OnlyAfterCallsInARow) {
  EXPECT_FALSE(rest_.begin(expects_));
  wait_for_some();
  rest_.wake();
  EXPECT_FALSE(rest_.begin(expects_)) << "somebody did not read";
  wait_for_some();
  EXPECT_TRUE(rest_.begin(expects_));
}

TEST_F(ReaderRestTest, NotWhileSomebodyWaits) {
  wait_for_some();
  expects_ = true;
  EXPECT_FALSE(rest_.begin(expects_));
  // Who could not read since the own thread was about to rest.
  expects_ = false;
  EXPECT_TRUE(rest_.begin(expects_));
  expects_ = true;
  rest_.waits();
  rest_.rest();
  EXPECT_FALSE(rest_.begin(expects_));
}

// Though callers read all the time.
TEST_F(ReaderRestTest, EndsWhenItIsNeeded) {
  wait_for_some();
  ASSERT_TRUE(rest_.begin(expects_));
  std::atomic<bool> over = false;
  std::thread others([&] {
    rest_.wake();
    while (!over) {
      rest_.reads();
      std::this_thread::yield();
    }
  });
  rest_.rest();
  over = true;
  others.join();
}

TEST_F(ReaderRestTest, EndsWhenNobodyReads) {
  wait_for_some();
  ASSERT_TRUE(rest_.begin(expects_));
  rest_.reads();
  rest_.rest();
  EXPECT_FALSE(rest_.begin(expects_));
}

}  // namespace
}  // namespace rondo
