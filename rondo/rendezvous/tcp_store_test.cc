#include "rondo/rendezvous/tcp_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include "rondo/rendezvous/tcp_store_wire.h"
#include "rondo/transport/free_port.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Deadline soon() { return Deadline(seconds(20)); }

SocketAddress loopback() { return SocketAddress::parse("127.0.0.1:0").value(); }

class TcpStore : public testing::Test {
 protected:
  Result<std::shared_ptr<Store>> connect(const std::string& token = "secret",
                                         Deadline deadline = soon()) {
    return connect_tcp_store("127.0.0.1", server_->address().port(), token,
                             deadline);
  }
  Fd raw() { return connect_to(server_->address(), soon()).value(); }
  // A connection past its handshake.
  Fd client() {
    Fd fd = raw();
    handshake_as_client(fd.get(), "secret", Purpose::kStore, Subject{}, soon())
        .value();
    return fd;
  }
  void expect_serving() {
    auto store = connect().value();
    store->set("still", "here").value();
    EXPECT_EQ(store->get("still", soon()).value(), "here");
  }
  static void expect_closed(const Fd& fd) {
    char byte;
    Status status;
    while (status.ok()) status = recv_all(fd.get(), {&byte, 1}, soon());
    EXPECT_EQ(status.code(), Code::kPeerLost);
  }

  std::unique_ptr<TcpStoreServer> server_ =
      TcpStoreServer::start(loopback(), {}, "secret").value();
};

TEST_F(TcpStore, StrangersAreDisconnectedAndTheStoreGoesOn) {
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(500, '\xee')}) {
    Fd fd = raw();
    send_all(fd.get(), bytes, soon()).value();
    expect_closed(fd);
  }
  for (int i = 0; i < 200; ++i) raw();  // a port scan
  expect_serving();
}

TEST_F(TcpStore, SilentStrangersDoNotKeepClients) {
  std::vector<Fd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(raw());
  expect_serving();
}

TEST_F(TcpStore, AHeaderThatClaimsTooMuchEndsOnlyItsConnection) {
  using namespace store_wire;
  auto store = connect().value();
  for (const Request& request :
       {Request{Operation::kSet, 1, uint64_t{1} << 60, 0},
        Request{Operation::kSet, 0xffffffff, 1, 0},
        Request{Operation::kGet, 1, 1, 0}, Request{Operation::kSet, 0, 1, 0},
        Request{static_cast<Operation>(9), 1, 0, 0}}) {
    Fd fd = client();
    const Header header = encode(request);
    send_all(fd.get(), header, soon()).value();
    expect_closed(fd);
  }
  store->set("a", "1").value();
  expect_serving();
}

// Nothing that a stranger says counts as a request, whatever its length: it is
// neither kept nor waited for.
TEST_F(TcpStore, AStrangerThatClaimsALengthIsDisconnectedAtOnce) {
  using namespace store_wire;
  const auto start = Clock::now();
  for (uint64_t size : {uint64_t{1}, uint64_t{1} << 24, uint64_t{1} << 60}) {
    const Header header = encode(Request{Operation::kSet, 5, size, 0});
    std::string request(header.data(), header.size());
    request += "stillx";
    // As the first that it says, and behind a greeting without the token.
    Fd rude = raw();
    send_all(rude.get(), request, soon()).value();
    expect_closed(rude);
    Fd guesser = raw();
    std::string hello("RNDO\1\0\1\0", 8);  // version 1, for a store
    hello.resize(120);                     // and an HMAC of nobody's
    send_all(guesser.get(), hello + "+" + request, soon()).value();
    expect_closed(guesser);
  }
  // Not only when the time for a handshake is over, which is 10 s.
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  const auto value =
      connect().value()->get("still", Deadline(Duration::zero()));
  EXPECT_EQ(value.status().code(), Code::kTimeout);
  expect_serving();
}

// The other way round: a server of the job that has gone mad.
TEST(TcpStoreClient, AReplyThatClaimsTooMuchIsAnError) {
  using namespace store_wire;
  const Fd listener = listen_on(loopback(), {}).value();
  const int port = local_address(listener.get())->port();
  std::thread server([&] {
    pollfd ready{listener.get(), POLLIN, 0};
    poll(&ready, 1, 20'000);
    ServerHandshake handshake(
        Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK)), "",
        seconds(20), [](Purpose, const Subject&) { return Verdict::kWelcome; });
    while (handshake.advance() == ServerHandshake::State::kPending) {
      ready = {handshake.fd(), handshake.events(), 0};
      poll(&ready, 1, 1000);
    }
    const Fd client = handshake.take();
    Header request;
    recv_all(client.get(), request, soon()).value();
    Reply reply{Outcome::kOk};
    reply.value_size = uint64_t{1} << 60;
    send_all(client.get(), encode(reply), soon()).value();
    char byte;
    while (recv_all(client.get(), {&byte, 1}, soon()).ok()) continue;
  });
  auto store = connect_tcp_store("127.0.0.1", port, "", soon()).value();
  const auto value = store->get("k", soon());
  EXPECT_EQ(value.status().code(), Code::kInternal);
  EXPECT_THAT(value.status().message(),
              HasSubstr("claims 1152921504606846976"));
  store.reset();
  server.join();
}

TEST_F(TcpStore, ARequestBeforeTheReplyEndsTheConnection) {
  using namespace store_wire;
  Fd fd = client();
  const Header header = encode(Request{Operation::kGet, 1, 0, 60000});
  std::string request(header.data(), header.size());
  request += "k";
  send_all(fd.get(), request + request, soon()).value();
  expect_closed(fd);
  expect_serving();
}

TEST_F(TcpStore, AClientThatDiesWhileWaitingIsForgotten) {
  using namespace store_wire;
  {
    Fd fd = client();
    const Header header = encode(Request{Operation::kGet, 1, 0, 60000});
    std::string request(header.data(), header.size());
    send_all(fd.get(), request + "k", soon()).value();
  }
  EXPECT_TRUE(server_->wait_idle(soon()));
  connect().value()->set("k", "nobody waits").value();
  expect_serving();
}

TEST_F(TcpStore, WrongTokenIsFinalAtOnce) {
  const auto start = Clock::now();
  const auto store = connect("other");
  EXPECT_EQ(store.status().code(), Code::kPermission);
  EXPECT_THAT(store.status().message(), HasSubstr("RONDO_TOKEN"));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  expect_serving();
}

TEST_F(TcpStore, HundredsOfClientsMeet) {
  constexpr int kClients = 300;
  std::vector<std::shared_ptr<Store>> stores;
  for (int i = 0; i < kClients; ++i) stores.push_back(connect().value());
  std::vector<std::thread> waiting;
  for (int i = 0; i < 30; ++i)
    waiting.emplace_back([store = stores[static_cast<size_t>(i)]] {
      EXPECT_EQ(store->get("go", soon()).value(), "now");
    });
  for (auto& store : stores) store->add("ready", 1).value();
  stores[0]->set("go", "now").value();
  for (auto& t : waiting) t.join();
  EXPECT_EQ(stores[0]->get("ready", soon()).value(), "300");
}

TEST_F(TcpStore, ALostServerIsNamed) {
  auto store = connect().value();
  store->set("a", "1").value();
  std::thread waiting([&] {
    const auto lost = store->get("never", soon());
    EXPECT_EQ(lost.status().code(), Code::kPeerLost);
  });
  server_.reset();
  waiting.join();
  for (int i = 0; i < 2; ++i) {
    const Status status = store->set("b", "2");
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_THAT(status.message(), HasSubstr(store->name()));
    EXPECT_THAT(status.message(), HasSubstr("launcher or rank 0"));
  }
}

TEST_F(TcpStore, WaitIdleIsTrueWhenAllHaveLeft) {
  auto store = connect().value();
  store->set("a", "1").value();
  EXPECT_FALSE(server_->wait_idle(Deadline(milliseconds(20))));
  store.reset();
  EXPECT_TRUE(server_->wait_idle(soon()));
}

TEST_F(TcpStore, ConnectWaitsForAServerThatStartsLater) {
  const int port = free_port();
  std::shared_ptr<Store> store;
  std::thread early([&] {
    store = connect_tcp_store("127.0.0.1", port, "secret", soon()).value();
  });
  server_ = TcpStoreServer::start(loopback(), {port, port}, "secret").value();
  early.join();
  store->set("a", "1").value();
}

TEST_F(TcpStore, FailuresToConnectAreToldApart) {
  const int port = free_port();
  const auto refused = connect_tcp_store("127.0.0.1", port, "secret",
                                         Deadline(milliseconds(50)));
  EXPECT_EQ(refused.status().code(), Code::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("refused"));

  const auto unnamed =
      connect_tcp_store("no-such-host.invalid", port, "secret", soon());
  EXPECT_THAT(unnamed.status().message(), HasSubstr("does not resolve"));

  Fd listener = listen_on(loopback(), {}).value();  // accepts, never answers
  const auto silent = connect_tcp_store(
      "127.0.0.1", local_address(listener.get()).value().port(), "secret",
      Deadline(milliseconds(50)));
  EXPECT_EQ(silent.status().code(), Code::kTimeout);
  EXPECT_THAT(silent.status().message(), HasSubstr("nobody answers"));
}

}  // namespace
}  // namespace rondo
