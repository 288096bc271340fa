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

// However many they are.
TEST(EventLoop, AllThatIsReadyIsSeenBeforeWhatIsLeftForLater) {
  const auto loop = EventLoop::create().value();
  std::vector<Fd> events;
  size_t seen = 0;
  size_t seen_before = 0;
  for (int i = 0; i < 600; ++i) {
    events.push_back(make_event());
    set(events.back());
    const int fd = events.back().get();
    ASSERT_TRUE(loop->watch(fd, EPOLLIN,
                            [&seen, &loop, fd] {
                              ++seen;
                              loop->forget(fd);
                            })
                    .ok());
  }
  loop->later([&] { seen_before = seen; });
  loop->run_once();
  EXPECT_EQ(seen_before, events.size());
}

}  // namespace
}  // namespace rondo
