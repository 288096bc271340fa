#include "rondo/plan/event_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

namespace rondo {
namespace {

// Half of them in lanes, where some come out of order.
TEST(EventQueue, EarliestFirstAndThenAsPosted) {
  constexpr int kLanes = 3;
  EventQueue events(kLanes);
  std::mt19937 random(1);
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  int posted = 0;
  std::pair<double, int> last{-1, -1};
  const auto pop = [&] {
    const Event event = events.pop();
    const std::pair<double, int> now{event.time, event.a};
    EXPECT_LT(last, now);
    last = now;
  };
  for (int round = 0; round < 1000; ++round) {
    for (int i = below(5); i > 0; --i) {
      const int lane = below(2) == 0 ? EventQueue::kNoLane : below(kLanes);
      // Nothing happens before now.
      const double now = std::max(0.0, last.first);
      events.post(now + below(10), Event::Kind::kReady, posted++, 0, lane);
    }
    if (!events.empty()) pop();
  }
  while (!events.empty()) pop();
}

}  // namespace
}  // namespace rondo
