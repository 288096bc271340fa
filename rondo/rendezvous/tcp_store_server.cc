#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "rondo/base/log.h"
#include "rondo/base/mutex.h"
#include "rondo/rendezvous/store_rules.h"
#include "rondo/rendezvous/tcp_store.h"
#include "rondo/rendezvous/tcp_store_wire.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

using namespace store_wire;

constexpr Duration kHandshakeTime = std::chrono::seconds(10);
// Strangers that connect and say nothing; further ones wait in the backlog.
constexpr size_t kMostHandshakes = 512;
// After accept(2) failed for want of descriptors.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);
constexpr int kIdlePollMs = 60'000;

// A client past its handshake. `in` never grows beyond the one request whose
// header was found plausible.
struct Client {
  Fd fd;
  std::string who;
  std::string in;
  std::string out;
  size_t sent = 0;                         // of out
  std::optional<std::string> awaited_key;  // a get that is parked
  Deadline patience = Deadline::never();   // of that get
  bool gone = false;
};

// The server's thread owns all state but the wake-up descriptor and the count
// of clients.
class Server : public TcpStoreServer {
 public:
  Server(Fd listener, Fd wake, SocketAddress address, std::string token)
      : listener_(std::move(listener)),
        wake_(std::move(wake)),
        address_(address),
        token_(std::move(token)),
        thread_([this] { serve(); }) {}

  ~Server() override {
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t n = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }

  SocketAddress address() const override { return address_; }

  bool wait_idle(Deadline deadline) override {
    MutexLock lock(mutex_);
    while (connected_ != 0) {
      if (deadline.passed()) return false;
      idle_.wait_for(mutex_, std::min<Duration>(deadline.left(), seconds(0.1)));
    }
    return true;
  }

 private:
  void serve() {
    std::vector<pollfd> polled;
    for (;;) {
      polled.assign({{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
      int timeout_ms = kIdlePollMs;
      if (!accept_after_.passed()) {
        polled[1].fd = -1;
        timeout_ms = accept_after_.poll_ms(timeout_ms);
      } else if (handshakes_.size() >= kMostHandshakes) {
        polled[1].fd = -1;
      }
      for (const ServerHandshake& h : handshakes_) {
        polled.push_back({h.fd(), h.events(), 0});
        timeout_ms = h.deadline().poll_ms(timeout_ms);
      }
      for (const Client& c : clients_) {
        const short events = c.out.empty() ? POLLIN : POLLOUT;
        polled.push_back({c.fd.get(), events, 0});
        if (c.awaited_key) timeout_ms = c.patience.poll_ms(timeout_ms);
      }
      if (::poll(polled.data(), polled.size(), timeout_ms) < 0 &&
          errno != EINTR)
        log(LogLevel::kError, "store {}: poll failed", address_.to_string());
      if (polled[0].revents != 0) return;

      // In the order in which they were polled; both lists only grow below.
      size_t at = 2;
      const size_t shaking = handshakes_.size();
      auto c = clients_.begin();
      for (at += shaking; at < polled.size(); ++at, ++c)
        if (polled[at].revents != 0) attend(*c);
      advance_handshakes();
      if (polled[1].revents != 0) accept_all();
      end_patience();
      clients_.remove_if([](const Client& x) { return x.gone; });
      MutexLock lock(mutex_);
      connected_ = clients_.size();
      if (connected_ == 0) idle_.notify_all();
    }
  }

  void accept_all() {
    while (handshakes_.size() < kMostHandshakes) {
      Fd fd(::accept4(listener_.get(), nullptr, nullptr,
                      SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd.valid()) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
          complain(errno_error(Code::kResource, errno, "accept a connection"));
          accept_after_ = Deadline(kAcceptPause);
        }
        return;
      }
      handshakes_.emplace_back(std::move(fd), token_, kHandshakeTime,
                               [](Purpose purpose, const Subject&) {
                                 return purpose == Purpose::kStore
                                            ? Verdict::kWelcome
                                            : Verdict::kNotHere;
                               });
      if (handshakes_.back().advance() != ServerHandshake::State::kPending)
        advance_handshakes();
    }
  }

  void advance_handshakes() {
    for (auto h = handshakes_.begin(); h != handshakes_.end();) {
      const auto state = h->advance();
      if (state == ServerHandshake::State::kPending) {
        ++h;
        continue;
      }
      if (state == ServerHandshake::State::kDone) {
        Client client;
        client.fd = h->take();
        auto peer = peer_address(client.fd.get());
        client.who = peer.ok() ? peer->to_string() : "a client";
        clients_.push_back(std::move(client));
      } else {
        complain(h->failure());
      }
      h = handshakes_.erase(h);
    }
  }

  // Reads and answers what there is; marks the client gone when it is.
  void attend(Client& c) {
    if (!c.out.empty() && !flush(c)) return;
    while (c.out.empty() && !c.gone) {
      const size_t wanted = bytes_missing(c);
      if (c.gone) return;
      if (wanted == 0) {
        answer(c);
        continue;
      }
      char chunk[64 << 10];
      const ssize_t n = ::recv(c.fd.get(), chunk,
                               std::min(wanted, sizeof chunk), MSG_DONTWAIT);
      if (n > 0 && c.awaited_key)
        return drop(c, "sent a request before the reply to its last");
      if (n > 0)
        c.in.append(chunk, static_cast<size_t>(n));
      else if (n < 0 && errno == EINTR)
        continue;
      else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
      else
        c.gone = true;
    }
  }

  // Until the request is whole; 0 then. A header that no client of ours would
  // send ends the connection here, before a byte of its body is stored.
  size_t bytes_missing(Client& c) {
    if (c.in.size() < kHeaderSize) return kHeaderSize - c.in.size();
    const Request r = decode_request(c.in.data());
    if (!plausible(r)) {
      drop(c, fmt::format("sent a header that claims a key of {} and a value "
                          "of {} bytes for operation {}",
                          r.key_size, r.value_size,
                          static_cast<uint32_t>(r.operation)));
      return 0;
    }
    return kHeaderSize + r.key_size + r.value_size - c.in.size();
  }

  void answer(Client& c) {
    const Request r = decode_request(c.in.data());
    std::string key = c.in.substr(kHeaderSize, r.key_size);
    std::string value = c.in.substr(kHeaderSize + r.key_size);
    c.in = {};
    switch (r.operation) {
      case Operation::kSet:
        store(key, std::move(value));
        return reply(c, {Outcome::kOk}, "");
      case Operation::kGet: {
        auto it = values_.find(key);
        if (it != values_.end()) return reply(c, {Outcome::kOk}, it->second);
        if (r.argument == 0) return reply(c, {Outcome::kNotSet}, "");
        c.awaited_key = std::move(key);
        c.patience = Deadline(std::chrono::milliseconds(
            std::min<uint64_t>(r.argument, 1'000'000'000'000)));
        return;
      }
      case Operation::kAdd: {
        auto it = values_.find(key);
        const auto sum =
            add_to_counter(key, it == values_.end() ? "" : it->second,
                           static_cast<int64_t>(r.argument));
        if (!sum.ok())
          return reply(c, {Outcome::kBadRequest}, sum.status().message());
        store(key, std::to_string(*sum));
        return reply(c, {Outcome::kOk, static_cast<uint64_t>(*sum)}, "");
      }
      case Operation::kRemove:
        values_.erase(key);
        return reply(c, {Outcome::kOk}, "");
    }
  }

  void store(const std::string& key, std::string text) {
    std::string& value = values_[key];
    value = std::move(text);
    for (Client& c : clients_)
      if (c.awaited_key == key && !c.gone) reply(c, {Outcome::kOk}, value);
  }

  void end_patience() {
    for (Client& c : clients_)
      if (c.awaited_key && c.patience.passed())
        reply(c, {Outcome::kNotSet}, "");
  }

  void reply(Client& c, Reply r, std::string_view value) {
    c.awaited_key.reset();
    r.value_size = value.size();
    const Header header = encode(r);
    c.out.assign(header.data(), header.size());
    c.out.append(value);
    c.sent = 0;
    flush(c);
  }

  // True when everything is out.
  bool flush(Client& c) {
    while (c.sent < c.out.size()) {
      const ssize_t n =
          ::send(c.fd.get(), c.out.data() + c.sent, c.out.size() - c.sent,
                 MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0) {
        c.sent += static_cast<size_t>(n);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return false;
      } else if (errno != EINTR) {
        c.gone = true;
        return false;
      }
    }
    c.out = {};
    return true;
  }

  void drop(Client& c, std::string_view why) {
    c.gone = true;
    complain(error(Code::kInvalidArgument, "{} {}; it was disconnected", c.who,
                   why));
  }

  // One warning is news; a port scan's thousandth is not.
  void complain(const Status& status) {
    const auto level = warned_ ? LogLevel::kDebug : LogLevel::kWarning;
    // Somebody who connects and leaves is no reason to worry anybody.
    if (status.code() == Code::kPeerLost)
      return log(LogLevel::kDebug, "store: {}", status.message());
    warned_ = true;
    log(level, "store {}: {}; the job goes on", address_.to_string(),
        status.message());
  }

  const Fd listener_;
  const Fd wake_;
  const SocketAddress address_;
  const std::string token_;
  Mutex mutex_;
  CondVar idle_;
  size_t connected_ RONDO_GUARDED_BY(mutex_) = 0;
  // The server's thread only, from here on.
  Deadline accept_after_{Duration::zero()};
  std::list<ServerHandshake> handshakes_;
  std::list<Client> clients_;
  std::map<std::string, std::string> values_;
  bool warned_ = false;
  std::thread thread_;  // last: it starts when all else is there
};

}  // namespace

Result<std::unique_ptr<TcpStoreServer>> TcpStoreServer::start(
    const SocketAddress& address, PortRange ports, const std::string& token) {
  RONDO_ASSIGN_OR_RETURN(Fd listener, listen_on(address, ports));
  RONDO_ASSIGN_OR_RETURN(const SocketAddress bound,
                         local_address(listener.get()));
  Fd wake(::eventfd(0, EFD_CLOEXEC));
  if (!wake.valid())
    return errno_error(Code::kResource, errno, "make an event descriptor");
  return std::unique_ptr<TcpStoreServer>(std::make_unique<Server>(
      std::move(listener), std::move(wake), bound, token));
}

}  // namespace rondo
