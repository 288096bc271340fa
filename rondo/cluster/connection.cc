#include "rondo/cluster/connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rondo/tensor/heap.h"

namespace rondo {
namespace {

constexpr size_t kBufferBytes = 64 << 10;
constexpr int kMostPieces = 64;
// How often the thread looks whether the peer has been silent for too long.
constexpr int kPollMs = 500;
// How often a caller that reads looks whether it was interrupted.
constexpr Duration kCallerNap = std::chrono::milliseconds(100);

// A caller's turn to read, until it goes, however that comes about.
class RONDO_THREAD_ANNOTATION(scoped_lockable) Turn {
 public:
  // `reading` is locked.
  Turn(Mutex& reading, std::atomic<std::thread::id>& read_by)
      RONDO_REQUIRES(reading)
      : reading_(reading), read_by_(read_by) {
    read_by_ = std::this_thread::get_id();
  }
  ~Turn() RONDO_THREAD_ANNOTATION(release_capability()) {
    read_by_ = std::thread::id();
    reading_.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Mutex& reading_;
  std::atomic<std::thread::id>& read_by_;
};

}  // namespace

std::shared_ptr<Connection> Connection::start(Fd fd, Options options,
                                              OnMessage on_message,
                                              OnClosed on_closed) {
  std::shared_ptr<Connection> made(
      new Connection(std::move(fd), std::move(options), std::move(on_message),
                     std::move(on_closed)));
  // Without the lock: nobody else has it yet.
  [&]() RONDO_THREAD_ANNOTATION(no_thread_safety_analysis) {
    made->incoming_.on_release([weak = made->weak_from_this()](uint64_t id) {
      if (const auto self = weak.lock())
        self->send({.kind = wire::Kind::kRelease, .id = id});
    });
  }();
  // The thread keeps the connection; whoever else does may let go any time.
  made->thread_ = std::thread([made] { made->run(); });
  return made;
}

Connection::Connection(Fd fd, Options options, OnMessage on_message,
                       OnClosed on_closed)
    : options_(std::move(options)),
      on_message_(std::move(on_message)),
      on_closed_(std::move(on_closed)),
      fd_(std::move(fd)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      incoming_({.borrows = options_.borrows,
                 .into = options_.into,
                 .copier = options_.copier}),
      buffer_(kBufferBytes),
      heard_(Clock::now()) {
  greet();
}

Connection::~Connection() {
  // The thread has let go, so it is over, or it is this one.
  if (on_own_thread())
    thread_.detach();
  else
    thread_.join();
}

void Connection::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_.get(), &one, sizeof one);
}

void Connection::close(const Status& why) {
  {
    const MutexLock lock(mutex_);
    if (why_.ok()) why_ = why;
  }
  closing_ = true;
  wake();
  rest_.wake();
  if (on_own_thread() || read_by_.load() == std::this_thread::get_id()) return;
  const MutexLock lock(mutex_);
  while (!finished_) over_.wait(mutex_);
}

// Says where this process's heap is.
void Connection::greet() {
  const SharedHeap& heap = SharedHeap::process();
  SegmentHandle handle;
  if (options_.shares_memory && heap.shareable())
    handle = Segment::handle_of(heap.fd(), heap.nonce(), heap.bytes());
  send({.kind = wire::Kind::kHello,
        .body = std::string(reinterpret_cast<const char*>(&handle),
                            sizeof handle)});
}

void Connection::map_peer(std::string_view hello) {
  SegmentHandle handle;
  if (hello.size() != sizeof handle || incoming_.mapped() ||
      !options_.shares_memory)
    return;
  std::memcpy(&handle, hello.data(), sizeof handle);
  if (handle.fd < 0) return;
  // On another host there is no such process, or its file has another nonce.
  if (auto heap = Segment::attach(handle); heap.ok()) {
    incoming_.map(std::move(*heap));
    send({.kind = wire::Kind::kMapped});
  }
}

void Connection::send(const wire::Message& message) {
  wire::Encoded encoded = wire::encode(message, peer_maps_);
  Outgoing out;
  out.bytes = encoded.front.size();
  for (const Tensor& tensor : encoded.tail) out.bytes += tensor.bytes();
  out.front = std::move(encoded.front);
  out.tail = std::move(encoded.tail);
  std::vector<Outgoing> sent;  // goes behind the lock
  const MutexLock lock(mutex_);
  if (finished_) return;
  if (encoded.mapped) shown_.emplace(message.id, message.tensors);
  outbox_.push_back(std::move(out));
  if (outbox_.size() > 1) return;  // the thread is at it
  if (!flush(sent).ok() || !outbox_.empty()) wake();
}

// Writes what fits; a failure shows again when the thread reads.
Status Connection::flush(std::vector<Outgoing>& sent) {
  while (!outbox_.empty()) {
    Outgoing& out = outbox_.front();
    iovec pieces[kMostPieces];
    int count = 0;
    size_t skip = out.sent;
    auto add = [&](const void* data, size_t bytes) {
      const size_t skipped = std::min(skip, bytes);
      skip -= skipped;
      if (skipped < bytes && count < kMostPieces)
        pieces[count++] = {
            const_cast<char*>(static_cast<const char*>(data)) + skipped,
            bytes - skipped};
    };
    add(out.front.data(), out.front.size());
    for (const Tensor& tensor : out.tail) add(tensor.data(), tensor.bytes());
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = static_cast<size_t>(count);
    const ssize_t n =
        ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
      return errno_error(Code::kPeerLost, errno, "the connection broke");
    }
    written_ += static_cast<uint64_t>(n);
    out.sent += static_cast<size_t>(n);
    if (out.sent == out.bytes) {
      sent.push_back(std::move(out));
      outbox_.pop_front();
    }
  }
  return {};
}

void Connection::run() {
  runs_on_ = std::this_thread::get_id();
  Status why = read_frames();
  {
    const MutexLock lock(mutex_);
    if (closing_) why = why_;
  }
  on_closed_(why);
  std::deque<Outgoing> unsent;  // both go behind the lock
  std::multimap<uint64_t, std::vector<Tensor>> shown;
  const MutexLock lock(mutex_);
  finished_ = true;
  outbox_.swap(unsent);
  shown_.swap(shown);
  ::shutdown(fd_.get(), SHUT_RDWR);
  over_.notify_all();
}

Status Connection::read_frames() {
  for (;;) {
    {
      const MutexLock lock(reading_);
      do read_frame(Deadline::never());
      while (broken_.ok() && !rest_.begin(expects_));
      if (!broken_.ok()) return broken_;
    }
    rest_.rest();
  }
}

void Connection::read_until(const std::function<bool()>& is_there,
                            Deadline deadline) {
  if (!reading_.try_lock()) return rest_.waits();
  bool go_on = false;
  {
    const Turn turn(reading_, read_by_);
    rest_.reads();
    while (broken_.ok() && !is_there() && !deadline.passed())
      read_frame(Deadline(std::min<Duration>(deadline.left(), kCallerNap)));
    go_on = broken_.ok() && is_there();
  }
  // The own thread ends the connection, or gets the answer that is late.
  if (!go_on) rest_.wake();
}

void Connection::read_frame(Deadline until) {
  if (!broken_.ok()) return;
  // What is thrown here, for want of memory or by who gets the message, leaves
  // the frame in pieces: it ends the connection, and not the thread.
  try {
    auto whole = fill_frame(until);
    if (whole.ok() && *whole) take(incoming_.take());
    broken_ = whole.status();
  } catch (const std::exception& e) {
    broken_ = error(Code::kResource, "reading from {} failed: {}",
                    options_.peer, e.what());
  }
  // Memory of answers that will never be whole is their callers' again.
  if (!broken_.ok()) incoming_.drop();
}

Result<bool> Connection::fill_frame(Deadline until) {
  while (!incoming_.whole()) {
    RONDO_ASSIGN_OR_RETURN(const size_t n, read_some(incoming_.wants(), until));
    if (n == 0) return false;
    RONDO_RETURN_IF_ERROR(incoming_.got(n));
  }
  return true;
}

void Connection::take(wire::Message message) {
  switch (message.kind) {
    case wire::Kind::kHello: map_peer(message.body); break;
    case wire::Kind::kMapped: peer_maps_ = true; break;
    case wire::Kind::kPing: send({.kind = wire::Kind::kPong}); break;
    case wire::Kind::kPong: break;
    case wire::Kind::kRelease: {
      std::vector<Tensor> released;  // not freed while the lock is held
      const MutexLock lock(mutex_);
      if (const auto at = shown_.find(message.id); at != shown_.end()) {
        released = std::move(at->second);
        shown_.erase(at);
      }
      break;
    }
    case wire::Kind::kCall:
    case wire::Kind::kAnswer: on_message_(std::move(message)); break;
  }
}

Result<size_t> Connection::read_some(std::span<char> to, Deadline until) {
  while (begin_ == end_) {
    amid_.store(incoming_.begun(), std::memory_order_relaxed);
    // A peer that never pauses must not keep this side from sending and ending.
    RONDO_RETURN_IF_ERROR(push().status());
    if (until.left() == Duration::zero()) return size_t{0};
    // What is long goes where it belongs at once.
    const bool direct = to.size() >= buffer_.size();
    const std::span<char> into = direct ? to : std::span<char>(buffer_);
    const ssize_t n = ::recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (n == 0)
      return error(Code::kPeerLost, "{} closed the connection", options_.peer);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        return errno_error(
            Code::kPeerLost, errno,
            fmt::format("the connection to {} broke", options_.peer));
      RONDO_RETURN_IF_ERROR(wait(until).status());
      continue;
    }
    heard_ = Clock::now();
    if (direct) return static_cast<size_t>(n);
    begin_ = 0;
    end_ = static_cast<size_t>(n);
  }
  const size_t n = std::min(to.size(), end_ - begin_);
  std::memcpy(to.data(), buffer_.data() + begin_, n);
  begin_ += n;
  return n;
}

Result<bool> Connection::push() {
  if (closing_) return error(Code::kCancelled, "the connection was closed");
  std::vector<Outgoing> sent;  // goes behind the lock
  const MutexLock lock(mutex_);
  const uint64_t before = written_;
  RONDO_RETURN_IF_ERROR(flush(sent));
  // What had to wait goes on only where the peer has taken what was before it.
  if (written_ != before) heard_ = Clock::now();
  return !outbox_.empty();
}

Result<bool> Connection::wait(Deadline deadline) {
  for (;;) {
    pollfd fds[] = {{fd_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    RONDO_ASSIGN_OR_RETURN(const bool more, push());
    if (more) fds[0].events |= POLLOUT;
    ::poll(fds, 2, deadline.poll_ms(kPollMs));
    if (fds[1].revents) {
      uint64_t count;
      [[maybe_unused]] const ssize_t n =
          ::read(wake_.get(), &count, sizeof count);
    }
    if (fds[0].revents & ~POLLOUT) return true;
    RONDO_RETURN_IF_ERROR(look_for_life());
    if (deadline.left() == Duration::zero()) return false;
  }
}

// An error when the peer has been silent for too long.
Status Connection::look_for_life() {
  const auto now = Clock::now();
  if (!options_.pings || !expects_) {
    heard_ = now;
    return {};
  }
  if (now - heard_ > options_.patience)
    return error(Code::kPeerLost,
                 "{} has not answered for {:.0f} s: its process is stopped, "
                 "or its host cannot be reached",
                 options_.peer, to_seconds(now - heard_));
  if (now - heard_ > options_.patience / 4 &&
      now - pinged_ > options_.patience / 4) {
    pinged_ = now;
    send({.kind = wire::Kind::kPing});
  }
  return {};
}

}  // namespace rondo
