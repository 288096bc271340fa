#include "rondo/launch/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

namespace rondo {
namespace {

Fd make_event() { return Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

void set(const Fd& event) { ASSERT_EQ(eventfd_write(event.get(), 1), 0); }

// What is left for later waits for the events that came meanwhile.
TEST(EventLoop, EventsThatComeMeanwhileAreBeforeWhatIsLeftForLater) {
  const auto loop = EventLoop::create().value();
  const Fd first = make_event();
  const Fd second = make_event();
  std::vector<std::string> calls;
  ASSERT_TRUE(loop->watch(first.get(), EPOLLIN,
                          [&] {
                            calls.emplace_back("first");
                            loop->forget(first.get());
                            loop->later([&] { calls.emplace_back("later"); });
                            set(second);
                          })
                  .ok());
  ASSERT_TRUE(loop->watch(second.get(), EPOLLIN,
                          [&] {
                            calls.emplace_back("second");
                            loop->forget(second.get());
                          })
                  .ok());
  set(first);
  loop->run_once();
  loop->run_once();
  EXPECT_THAT(calls, testing::ElementsAre("first", "second", "later"));
}

}  // namespace
}  // namespace rondo
