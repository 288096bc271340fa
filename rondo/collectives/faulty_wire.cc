#include "rondo/collectives/faulty_wire.h"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace rondo {
namespace {

thread_local FaultyWire* this_threads_wire = nullptr;

// `message` cut to `most` bytes.
class Cut {
 public:
  Cut(const msghdr& message, size_t most) : message_(message) {
    size_t n = 0;
    for (size_t i = 0; i < message.msg_iovlen && n < 2 && most > 0; ++i) {
      pieces_[n] = message.msg_iov[i];
      pieces_[n].iov_len = std::min(pieces_[n].iov_len, most);
      most -= pieces_[n++].iov_len;
    }
    message_.msg_iov = pieces_;
    message_.msg_iovlen = n;
  }
  msghdr* get() { return &message_; }

 private:
  iovec pieces_[2] = {};
  msghdr message_;
};

// Moves by `real` what the thread's wire allows.
template <class Real>
ssize_t move(int fd, const msghdr* message, Real real) {
  FaultyWire* wire = this_threads_wire;
  if (wire == nullptr) return real(const_cast<msghdr*>(message));
  const size_t most = wire->allowance(fd);
  if (most == 0) {
    errno = EAGAIN;
    return -1;
  }
  Cut cut(*message, most);
  const ssize_t n = real(cut.get());
  if (n > 0) wire->moved(static_cast<size_t>(n));
  return n;
}

}  // namespace

FaultyWire::FaultyWire(Faults faults) : faults_(std::move(faults)) {
  this_threads_wire = this;
}

FaultyWire::~FaultyWire() { this_threads_wire = nullptr; }

void FaultyWire::moved(size_t bytes) {
  moved_ += static_cast<int64_t>(bytes);
  if (faults_.pace > Duration::zero()) paced_until_ = Deadline(faults_.pace);
}

size_t FaultyWire::allowance(int fd) {
  if (!paced_until_.passed()) return 0;
  size_t most = std::numeric_limits<int32_t>::max();
  if (!faults_.pieces.empty())
    most = faults_.pieces[turn_++ % faults_.pieces.size()];
  if (faults_.then == Faults::Then::kNothing) return most;
  if (fd == stalled_fd_ && !stalled_until_.passed()) return 0;
  if (struck_) return most;
  if (moved_ < faults_.after)
    return std::min(most, static_cast<size_t>(faults_.after - moved_));
  struck_ = true;
  switch (faults_.then) {
    case Faults::Then::kNothing: break;
    case Faults::Then::kDrop: shutdown(fd, SHUT_RDWR); break;
    case Faults::Then::kReset: {
      // To connect a socket to nothing resets its connection.
      const sockaddr nothing{.sa_family = AF_UNSPEC, .sa_data = {}};
      (void)connect(fd, &nothing, sizeof nothing);
      break;
    }
    case Faults::Then::kStall:
      stalled_fd_ = fd;
      stalled_until_ = Deadline(faults_.stall);
      return 0;
  }
  return most;
}

}  // namespace rondo

extern "C" {

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static const auto real =
      reinterpret_cast<decltype(&sendmsg)>(dlsym(RTLD_NEXT, "sendmsg"));
  return rondo::move(fd, message,
                     [&](msghdr* m) { return real(fd, m, flags); });
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static const auto real =
      reinterpret_cast<decltype(&recvmsg)>(dlsym(RTLD_NEXT, "recvmsg"));
  return rondo::move(fd, message,
                     [&](msghdr* m) { return real(fd, m, flags); });
}

}  // extern "C"
