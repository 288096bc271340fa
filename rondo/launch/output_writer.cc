#include "rondo/launch/output_writer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "rondo/base/mutex.h"
#include "rondo/transport/socket.h"

namespace rondo {

// Shared with the thread, which may be stuck in write(2) when the writer goes.
struct OutputWriter::State {
  int fd = -1;
  Fd event;
  Mutex mutex;
  CondVar changed;
  std::string queue RONDO_GUARDED_BY(mutex);
  // Of queue and of what is in write(2).
  size_t unwritten RONDO_GUARDED_BY(mutex) = 0;
  bool broken RONDO_GUARDED_BY(mutex) = false;
  bool stopped RONDO_GUARDED_BY(mutex) = false;
};

namespace {

// One piece; false when the reader is gone.
bool write_some(int fd, std::string_view& bytes) {
  const ssize_t written =
      ::write(fd, bytes.data(), std::min<size_t>(bytes.size(), 1 << 16));
  if (written >= 0) {
    bytes.remove_prefix(static_cast<size_t>(written));
    return true;
  }
  if (errno == EAGAIN) {
    // Whoever shares the descriptor made it non-blocking.
    pollfd ready{fd, POLLOUT, 0};
    poll(&ready, 1, -1);
    return true;
  }
  return errno == EINTR;
}

void wake(int event) {
  const uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(event, &one, sizeof one);
}

}  // namespace

Result<std::unique_ptr<OutputWriter>> OutputWriter::start(int fd) {
  auto state = std::make_shared<State>();
  state->fd = fd;
  state->event = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state->event.valid())
    return errno_error(Code::kResource, errno, "cannot make an eventfd");
  std::thread(run, state).detach();
  return std::unique_ptr<OutputWriter>(new OutputWriter(std::move(state)));
}

OutputWriter::OutputWriter(std::shared_ptr<State> state)
    : state_(std::move(state)) {}

OutputWriter::~OutputWriter() {
  const MutexLock lock(state_->mutex);
  state_->stopped = true;
  state_->changed.notify_one();
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the thread's own
void OutputWriter::run(std::shared_ptr<State> shared) {
  State& state = *shared;
  const MutexLock lock(state.mutex);
  while (true) {
    while (!state.stopped && state.queue.empty())
      state.changed.wait(state.mutex);
    if (state.stopped) return;
    const std::string batch = std::exchange(state.queue, {});
    std::string_view left = batch;
    while (!left.empty() && !state.broken && !state.stopped) {
      const size_t before = left.size();
      state.mutex.unlock();
      const bool ok = write_some(state.fd, left);
      state.mutex.lock();
      state.unwritten -= before - left.size();
      if (!ok) state.broken = true;
      wake(state.event.get());
    }
    if (state.broken) {
      state.queue.clear();
      state.unwritten = 0;
    }
    wake(state.event.get());
  }
}

void OutputWriter::write(std::string_view bytes) {
  if (bytes.empty()) return;
  const MutexLock lock(state_->mutex);
  if (state_->broken) return;
  state_->queue += bytes;
  state_->unwritten += bytes.size();
  state_->changed.notify_one();
}

size_t OutputWriter::queued() const {
  const MutexLock lock(state_->mutex);
  return state_->unwritten;
}

bool OutputWriter::broken() const {
  const MutexLock lock(state_->mutex);
  return state_->broken;
}

int OutputWriter::event_fd() const { return state_->event.get(); }

void OutputWriter::clear_event() {
  uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(event_fd(), &count, sizeof count);
}

}  // namespace rondo
