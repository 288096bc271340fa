#include "rondo/base/interrupt.h"

#include <gtest/gtest.h>

#include <thread>

namespace rondo {
namespace {

TEST(Interrupt, NoThreadHasOneByItself) { EXPECT_FALSE(Interrupt::raised()); }

TEST(Interrupt, AYesEndsEveryWaitOfItsThreadAndNoOther) {
  int asked = 0;
  const Deadline far(seconds(60));
  {
    const Interrupt interrupt([&] { return ++asked == 3; });
    EXPECT_FALSE(far.passed());  // a wait begins: nobody is asked yet
    EXPECT_EQ(asked, 0);
    const auto start = Clock::now();
    while (!far.passed()) std::this_thread::yield();
    EXPECT_EQ(asked, 3);
    // Not at every look: asking may be dear.
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(100));
    EXPECT_TRUE(Interrupt::raised());
    EXPECT_TRUE(Deadline::never().passed());
    EXPECT_EQ(asked, 3);
    std::thread([&] { EXPECT_FALSE(far.passed()); }).join();
  }
  EXPECT_FALSE(far.passed());
}

TEST(Interrupt, TheInnermostCounts) {
  const Interrupt outer([] { return true; });
  const Deadline soon(seconds(0.2));
  {
    const Interrupt inner([] { return false; });
    while (!soon.passed()) std::this_thread::yield();
    EXPECT_FALSE(Interrupt::raised());
  }
  const Deadline far(seconds(60));
  while (!far.passed()) std::this_thread::yield();
  EXPECT_TRUE(Interrupt::raised());
}

}  // namespace
}  // namespace rondo
