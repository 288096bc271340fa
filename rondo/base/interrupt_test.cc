#include "rondo/base/interrupt.h"

#include <gtest/gtest.h>

#include <thread>

namespace rondo {
namespace {

// Says yes to the question number `when`.
struct Yes : Interrupt {
  explicit Yes(int number) : when(number) {}
  bool ask() override { return ++asked == when; }
  const int when;
  int asked = 0;
};

TEST(Interrupt, NoThreadHasOneByItself) { EXPECT_FALSE(Interrupt::raised()); }

TEST(Interrupt, AYesEndsEveryWaitOfItsThreadAndNoOther) {
  const Deadline far(seconds(60));
  {
    const Yes interrupt(3);
    const int& asked = interrupt.asked;
    const auto start = Clock::now();
    while (!far.passed()) std::this_thread::yield();
    EXPECT_EQ(asked, 3);
    // Not at every look: asking may be dear.
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(200));
    EXPECT_TRUE(Interrupt::raised());
    EXPECT_TRUE(Deadline::never().passed());
    EXPECT_EQ(asked, 3);
    std::thread([&] { EXPECT_FALSE(far.passed()); }).join();
  }
  EXPECT_FALSE(far.passed());
}

TEST(Interrupt, TheInnermostCounts) {
  const Yes outer(1);
  const Deadline soon(seconds(0.2));
  {
    const Yes inner(-1);
    while (!soon.passed()) std::this_thread::yield();
    EXPECT_FALSE(Interrupt::raised());
  }
  const Deadline far(seconds(60));
  while (!far.passed()) std::this_thread::yield();
  EXPECT_TRUE(Interrupt::raised());
}

}  // namespace
}  // namespace rondo
