// EventLoop: one thread that waits for descriptors and timers and calls back.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

// Used from one thread. Descriptors that became ready at different times are
// called back in that order, which is how the first of several dying ranks is
// told from those it took along.
class EventLoop {
 public:
  using Callback = std::function<void()>;

  static Result<std::unique_ptr<EventLoop>> create();

  // Calls `callback` whenever `fd` has one of `events` (EPOLLIN, EPOLLOUT), has
  // hung up or failed, until forget(fd), which comes before close(fd).
  Status watch(int fd, uint32_t events, Callback callback);
  // No further call for `fd`, not even one that is due already.
  void forget(int fd);
  // Calls once, after `delay`.
  void after(Duration delay, Callback callback);
  // Calls once, after every descriptor that is ready now had its call, even one
  // that became so since the last look.
  void later(Callback callback);
  // Waits for the next event or timer and handles all that are due.
  void run_once();

 private:
  explicit EventLoop(Fd epoll) : epoll_(std::move(epoll)) {}
  // Calls those that come within `wait` ms; their number.
  int wait_for_events(int wait);
  void call_ready(const epoll_event& event);
  void call_timers();
  int wait_ms() const;

  struct Watch {
    uint32_t generation;
    Callback callback;
  };
  Fd epoll_;
  uint32_t next_generation_ = 0;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  std::multimap<Clock::time_point, Callback> timers_;
  std::vector<Callback> later_;
};

}  // namespace rondo
