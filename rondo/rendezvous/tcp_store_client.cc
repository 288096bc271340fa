#include "rondo/rendezvous/tcp_store_client.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "rondo/base/mutex.h"
#include "rondo/rendezvous/store_rules.h"
#include "rondo/rendezvous/store_url.h"
#include "rondo/rendezvous/tcp_store.h"
#include "rondo/rendezvous/tcp_store_wire.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

using namespace store_wire;
using std::chrono::milliseconds;

// For what needs no waiting on the server's side.
constexpr Duration kRequestTime = std::chrono::seconds(30);
// How much later than its patience a get's "not set" may arrive.
constexpr Duration kGrace = std::chrono::seconds(1);
// For one of several addresses, so that a silent one does not hide the rest.
constexpr Duration kAddressTime = std::chrono::seconds(2);

Deadline sooner(const Deadline& deadline, Duration limit) {
  return Deadline(std::min(deadline.left(), limit));
}

Deadline later(const Deadline& deadline, Duration extra) {
  const Duration left = deadline.left();
  return Deadline(left > Duration::max() - extra ? left : left + extra);
}

struct Attempt {
  Fd fd;
  Status status;
  bool final = false;  // trying again cannot help
};

Attempt try_address(const SocketAddress& address, const std::string& token,
                    const Deadline& deadline) {
  auto fd = connect_to(address, deadline);
  if (!fd.ok()) return {Fd(), fd.status(), false};
  Status status = handshake_as_client(fd->get(), token, Purpose::kStore,
                                      Subject{}, deadline);
  const Code code = status.code();
  if (code == Code::kTimeout)
    status = error(code, "{} accepts connections but says nothing",
                   address.to_string());
  const bool final = code != Code::kTimeout && code != Code::kPeerLost;
  return {status.ok() ? std::move(*fd) : Fd(), status, final};
}

// One connection for every request under way: a get that waits has one to
// itself, and does not keep another thread's set.
class TcpStore : public Store {
 public:
  TcpStore(TcpStorePlace place, SocketAddress address, Fd first)
      : name_(std::move(place.name)),
        token_(std::move(place.token)),
        address_(address) {
    idle_.push_back(std::move(first));
  }

  Status set(const std::string& key, std::string_view value) override {
    RONDO_RETURN_IF_ERROR(check_value(key, value));
    return ask({Operation::kSet, 0, value.size(), 0}, key, value,
               Deadline(kRequestTime))
        .status();
  }

  Result<std::string> get(const std::string& key, Deadline deadline) override {
    const Duration left = deadline.left();
    const auto patience = static_cast<uint64_t>(
        (left.count() / 1'000'000) + (left.count() % 1'000'000 != 0));
    RONDO_ASSIGN_OR_RETURN(Answer answer,
                           ask({Operation::kGet, 0, 0, patience}, key, {},
                               later(deadline, kGrace)));
    if (answer.reply.outcome == Outcome::kNotSet)
      return key_timeout(key, name_);
    return std::move(answer.value);
  }

  Result<int64_t> add(const std::string& key, int64_t amount) override {
    RONDO_ASSIGN_OR_RETURN(Answer answer, ask({Operation::kAdd, 0, 0,
                                               static_cast<uint64_t>(amount)},
                                              key, {}, Deadline(kRequestTime)));
    return static_cast<int64_t>(answer.reply.number);
  }

  Status remove(const std::string& key) override {
    return ask({Operation::kRemove}, key, {}, Deadline(kRequestTime)).status();
  }

  std::string name() const override { return name_; }

 private:
  struct Answer {
    Reply reply;
    std::string value;
  };

  Result<Answer> ask(Request request, const std::string& key,
                     std::string_view value, const Deadline& deadline) {
    RONDO_RETURN_IF_ERROR(check_key(key));
    request.key_size = static_cast<uint32_t>(key.size());
    RONDO_ASSIGN_OR_RETURN(Fd fd, connection(deadline));
    Answer answer;
    // On failure the connection is closed: what else comes on it is unknown.
    if (Status s = exchange(fd.get(), request, key, value, deadline, answer);
        !s.ok())
      return explain(s, key);
    {
      MutexLock lock(mutex_);
      idle_.push_back(std::move(fd));
    }
    if (answer.reply.outcome == Outcome::kBadRequest)
      return Status(Code::kInvalidArgument, answer.value);
    return answer;
  }

  Result<Fd> connection(const Deadline& deadline) {
    {
      MutexLock lock(mutex_);
      if (!idle_.empty()) {
        Fd fd = std::move(idle_.back());
        idle_.pop_back();
        return fd;
      }
    }
    Attempt attempt =
        try_address(address_, token_, sooner(deadline, kRequestTime));
    if (attempt.fd.valid()) return std::move(attempt.fd);
    const Code code = attempt.status.code();
    if (code == Code::kUnavailable || code == Code::kPeerLost)
      return gone(attempt.status);
    return attempt.status.with_context("store " + name_);
  }

  static Status exchange(int fd, const Request& request, const std::string& key,
                         std::string_view value, const Deadline& deadline,
                         Answer& answer) {
    const Header header = encode(request);
    std::string message(header.data(), header.size());
    message.append(key).append(value);
    RONDO_RETURN_IF_ERROR(send_all(fd, message, deadline));
    Header back;
    RONDO_RETURN_IF_ERROR(recv_all(fd, back, deadline));
    answer.reply = decode_reply(back.data());
    if (answer.reply.value_size > kMaxValueSize)
      return error(Code::kInternal, "a reply claims {} bytes",
                   answer.reply.value_size);
    answer.value.resize(answer.reply.value_size);
    return recv_all(fd, answer.value, deadline);
  }

  Status explain(const Status& status, const std::string& key) const {
    if (status.code() == Code::kPeerLost) return gone(status);
    if (status.code() == Code::kTimeout)
      return error(Code::kTimeout,
                   "the store {} did not answer a request for key \"{}\" in "
                   "time: the launcher or rank 0 that serves it is stopped or "
                   "cannot be reached",
                   name_, key);
    return status.with_context("store " + name_);
  }

  Status gone(const Status& status) const {
    return error(Code::kPeerLost,
                 "the store {} is gone: the launcher or rank 0 that served it "
                 "has ended ({})",
                 name_, status.message());
  }

  const std::string name_;
  const std::string token_;
  const SocketAddress address_;
  Mutex mutex_;
  std::vector<Fd> idle_ RONDO_GUARDED_BY(mutex_);
};

// What to say when the time is over.
Status unreachable(const std::string& name, const Status& last) {
  if (last.code() == Code::kTimeout)
    return error(
        Code::kTimeout,
        "nobody answers at the store {} ({}): is the host up, and does "
        "a firewall let this port through?",
        name, last.message());
  return error(Code::kUnavailable,
               "nobody serves the store {} ({}): the launcher or rank 0, which "
               "serves it, has not started or has ended",
               name, last.message());
}

}  // namespace

Result<std::shared_ptr<Store>> connect_tcp_store(const TcpStorePlace& place,
                                                 Deadline deadline, bool once) {
  Duration pause = milliseconds(10);
  Status last;
  for (;;) {
    for (const SocketAddress& address : place.addresses) {
      const bool alone = place.addresses.size() == 1 && !once;
      Attempt attempt =
          try_address(address, place.token,
                      alone ? deadline : sooner(deadline, kAddressTime));
      if (attempt.status.ok())
        return std::shared_ptr<Store>(
            std::make_shared<TcpStore>(place, address, std::move(attempt.fd)));
      if (attempt.final)
        return attempt.status.with_context("store " + place.name);
      // Keep what says most: a refusal is worth more than "time is over".
      if (last.ok() || !deadline.passed()) last = attempt.status;
    }
    if (once || deadline.passed()) return unreachable(place.name, last);
    std::this_thread::sleep_for(std::min(pause, deadline.left()));
    pause = std::min<Duration>(pause * 2, milliseconds(250));
  }
}

Result<std::shared_ptr<Store>> connect_tcp_store(const std::string& host,
                                                 int port,
                                                 const std::string& token,
                                                 Deadline deadline) {
  TcpStorePlace place{make_tcp_url(host, port), {}, token};
  auto addresses = SocketAddress::resolve(host, port);
  if (!addresses.ok())
    return addresses.status().with_context("store " + place.name);
  place.addresses = std::move(*addresses);
  return connect_tcp_store(place, deadline, false);
}

}  // namespace rondo
