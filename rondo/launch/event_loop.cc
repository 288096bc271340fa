#include "rondo/launch/event_loop.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rondo {
namespace {

constexpr int kEvents = 256;  // that are asked for at once

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid())
    return errno_error(Code::kResource, errno, "cannot make an epoll set");
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

Status EventLoop::watch(int fd, uint32_t events, Callback callback) {
  epoll_event event{};
  event.events = events;
  const uint32_t generation = next_generation_++;
  event.data.u64 = uint64_t{generation} << 32 | static_cast<uint32_t>(fd);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return errno_error(Code::kResource, errno,
                       fmt::format("cannot watch descriptor {}", fd));
  watches_[fd] =
      std::make_shared<Watch>(Watch{generation, std::move(callback)});
  return {};
}

void EventLoop::forget(int fd) {
  if (watches_.erase(fd) > 0)
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::after(Duration delay, Callback callback) {
  timers_.emplace(Clock::now() + delay, std::move(callback));
}

void EventLoop::later(Callback callback) {
  later_.push_back(std::move(callback));
}

void EventLoop::run_once() {
  const int wait = wait_ms();
  std::vector<Callback> due = std::exchange(later_, {});
  // As often as it takes to see every descriptor once: what is due waits for
  // what has come.
  const size_t turns = watches_.size() / kEvents + 1;
  int count = wait_for_events(wait);
  for (size_t turn = 1; turn < turns && count == kEvents; ++turn)
    count = wait_for_events(0);
  for (Callback& callback : due) callback();
  call_timers();
}

int EventLoop::wait_for_events(int wait) {
  epoll_event events[kEvents];
  int count = 0;
  do {
    count = epoll_wait(epoll_.get(), events, kEvents, wait);
  } while (count < 0 && errno == EINTR && wait == 0);
  for (int i = 0; i < count; ++i) call_ready(events[i]);
  return count;
}

void EventLoop::call_ready(const epoll_event& event) {
  auto it = watches_.find(static_cast<int>(event.data.u64 & 0xffffffff));
  // A callback before this one may have closed the descriptor, and its number
  // may belong to another one by now.
  if (it == watches_.end() || it->second->generation != event.data.u64 >> 32)
    return;
  const std::shared_ptr<Watch> alive = it->second;
  alive->callback();
}

void EventLoop::call_timers() {
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Callback callback = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    callback();
  }
}

int EventLoop::wait_ms() const {
  if (!later_.empty()) return 0;
  if (timers_.empty()) return -1;
  const auto left = timers_.begin()->first - Clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
  return static_cast<int>(std::clamp<int64_t>(ms, 0, 60'000));
}

}  // namespace rondo
