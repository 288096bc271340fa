#include "rondo/transport/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <optional>
#include <thread>

namespace rondo {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr size_t kChallengeSize = 24, kHelloSize = 120;

Deadline soon() { return Deadline(seconds(10)); }

Subject subject_of(char c) {
  Subject s{};
  s[0] = static_cast<std::byte>(c);
  return s;
}

// A server that does one handshake on a thread, as an event loop would.
class OneServer {
 public:
  explicit OneServer(std::string token, Duration allowed = seconds(10)) {
    const auto any = SocketAddress::parse("127.0.0.1:0").value();
    listener_ = listen_on(any, {}).value();
    thread_ = std::thread([this, token, allowed] { serve(token, allowed); });
  }
  ~OneServer() {
    if (thread_.joinable()) thread_.join();
  }

  Fd connect() {
    return connect_to(local_address(listener_.get()).value(), soon()).value();
  }
  ServerHandshake& finish() {
    thread_.join();
    return *handshake_;
  }
  ServerHandshake::State state = ServerHandshake::State::kPending;
  std::atomic<int> questions = 0;  // how often `accept` was asked

 private:
  void serve(const std::string& token, Duration allowed) {
    pollfd p{listener_.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&p, 1, 10000), 1);
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
    handshake_.emplace(
        std::move(fd), token, allowed, [this](Purpose, const Subject& s) {
          ++questions;
          return s == subject_of('a') ? Verdict::kWelcome : Verdict::kNotHere;
        });
    while ((state = handshake_->advance()) ==
           ServerHandshake::State::kPending) {
      pollfd q{handshake_->fd(), handshake_->events(), 0};
      ::poll(&q, 1, handshake_->deadline().poll_ms(1000));
    }
  }

  Fd listener_;
  std::optional<ServerHandshake> handshake_;
  std::thread thread_;
};

TEST(Handshake, BothSidesAgree) {
  for (const char* token : {"secret", ""}) {
    OneServer server(token);
    Fd fd = server.connect();
    handshake_as_client(fd.get(), token, Purpose::kControl, subject_of('a'),
                        soon())
        .value();
    // Bytes right behind the Hello belong to the connection's owner.
    send_all(fd.get(), std::string("next"), soon()).value();
    ServerHandshake& done = server.finish();
    ASSERT_EQ(server.state, ServerHandshake::State::kDone);
    EXPECT_EQ(done.purpose(), Purpose::kControl);
    EXPECT_EQ(done.subject(), subject_of('a'));
    Fd taken = done.take();
    std::string next(4, ' ');
    recv_all(taken.get(), next, soon()).value();
    EXPECT_EQ(next, "next");
  }
}

TEST(Handshake, WrongTokenIsRefusedBeforeTheSubjectIsLookedAt) {
  OneServer server("secret");
  Fd fd = server.connect();
  const Status status = handshake_as_client(fd.get(), "other", Purpose::kStore,
                                            subject_of('a'), soon());
  EXPECT_EQ(status.code(), Code::kPermission);
  EXPECT_THAT(status.message(), HasSubstr("RONDO_TOKEN"));
  EXPECT_EQ(server.finish().failure().code(), Code::kPermission);
  EXPECT_EQ(server.questions, 0);
}

TEST(Handshake, AnotherSubjectIsNotHere) {
  OneServer server("secret");
  Fd fd = server.connect();
  const Status status = handshake_as_client(fd.get(), "secret", Purpose::kStore,
                                            subject_of('z'), soon());
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("older run"));
  EXPECT_EQ(server.finish().failure().code(), Code::kPermission);
}

TEST(Handshake, WithoutATokenOnlyLoopbackMayJoin) {
  const auto at = [](const char* text) {
    return SocketAddress::parse(text).value();
  };
  EXPECT_TRUE(may_join("", at("127.0.1.1:1")));
  EXPECT_TRUE(may_join("", at("[::1]:1")));
  EXPECT_FALSE(may_join("", at("10.0.0.7:1")));
  EXPECT_FALSE(may_join("", at("[fd00::7]:1")));
  EXPECT_FALSE(may_join("", SocketAddress()));
  EXPECT_TRUE(may_join("secret", at("10.0.0.7:1")));
}

TEST(Handshake, StrangersAreTurnedAway) {
  for (const char* text : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                           "\x16\x03\x01\x02\x01\xfc\x03\x03 random"}) {
    OneServer server("secret");
    Fd fd = server.connect();
    send_all(fd.get(), std::string(text), soon()).value();
    const Status failure = server.finish().failure();
    EXPECT_EQ(failure.code(), Code::kInvalidArgument);
    EXPECT_THAT(failure.message(), HasSubstr("127.0.0.1:"));
  }
}

TEST(Handshake, APeerThatClosesHalfwayEndsIt) {
  for (size_t bytes : {0, 3, 60, 119}) {
    OneServer server("secret");
    Fd fd = server.connect();
    std::string hello(bytes, '\0');
    const std::string start("RNDO\1\0\1\0", 8);
    hello.replace(0, std::min(bytes, start.size()), start, 0,
                  std::min(bytes, start.size()));
    send_all(fd.get(), hello, soon()).value();
    fd.reset();
    EXPECT_EQ(server.finish().failure().code(), Code::kPeerLost) << bytes;
  }
}

TEST(Handshake, ASilentPeerIsGivenUpAtTheDeadline) {
  OneServer server("secret", milliseconds(100));
  Fd fd = server.connect();
  EXPECT_EQ(server.finish().failure().code(), Code::kTimeout);
}

TEST(Handshake, SlowBytesDoNotMoveTheDeadline) {
  OneServer server("secret", milliseconds(200));
  Fd fd = server.connect();
  const Deadline limit(seconds(10));
  std::string hello(kHelloSize, '\0');
  hello.replace(0, 8, std::string("RNDO\1\0\1\0", 8));
  // A byte every 20 ms: each arrives well before the last one's 200 ms.
  size_t sent = 0;
  for (; sent < hello.size() && !limit.passed(); ++sent) {
    pollfd p{fd.get(), POLLIN | POLLRDHUP, 0};
    if (!send_all(fd.get(), {hello.data() + sent, 1}, soon()).ok()) break;
    p.events = POLLRDHUP;
    ::poll(&p, 1, 20);
    if (p.revents != 0) break;
  }
  EXPECT_LT(sent, hello.size() / 2);
  EXPECT_EQ(server.finish().failure().code(), Code::kTimeout);
}

TEST(Handshake, OtherVersionsAreToldSo) {
  OneServer server("secret");
  Fd fd = server.connect();
  std::string challenge(kChallengeSize, '\0');
  recv_all(fd.get(), challenge, soon()).value();
  EXPECT_EQ(challenge.substr(0, 6), std::string("RNDO\1\0", 6));
  std::string hello(300, '\0');  // a later version may be longer
  hello.replace(0, 6, std::string("RNDO\2\0", 6));
  send_all(fd.get(), hello, soon()).value();
  std::string answer(40, '\0');
  recv_all(fd.get(), answer, soon()).value();
  EXPECT_EQ(answer[0], static_cast<char>(Verdict::kWrongVersion));
  EXPECT_EQ(answer.substr(8), std::string(32, '\0'));
  EXPECT_THAT(server.finish().failure().message(), HasSubstr("same release"));
}

// What a client makes of a server that sends `bytes` and reads nothing.
Status client_against(const std::string& bytes, Duration allowed,
                      bool then_close) {
  Fd listener =
      listen_on(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
  Fd fd = connect_to(local_address(listener.get()).value(), soon()).value();
  Fd other(::accept4(listener.get(), nullptr, nullptr, 0));
  send_all(other.get(), bytes, soon()).value();
  if (then_close) other.reset();
  return handshake_as_client(fd.get(), "secret", Purpose::kStore, Subject{},
                             Deadline(allowed));
}

TEST(Handshake, ClientTellsBadServersApart) {
  const std::string v1("RNDO\1\0\0\0", 8), v9("RNDO\x9\0\0\0", 8);
  EXPECT_THAT(
      client_against("SSH-2.0-OpenSSH_9.2\r\n", seconds(10), false).message(),
      HasSubstr("another program has this port"));
  EXPECT_EQ(client_against(v9, seconds(10), false).code(), Code::kMismatch);
  EXPECT_EQ(client_against("", milliseconds(50), false).code(), Code::kTimeout);
  EXPECT_EQ(client_against(v1, seconds(10), true).code(), Code::kPeerLost);
}

TEST(Handshake, AServerThatDoesNotKnowTheTokenIsNotBelieved) {
  // Challenge, then "welcome" with a guess at the proof.
  std::string bytes = std::string("RNDO\1\0\0\0", 8) + std::string(16, 'S');
  bytes += std::string(8, '\0') + std::string(32, 'H');
  const Status status = client_against(bytes, seconds(10), false);
  EXPECT_EQ(status.code(), Code::kPermission);
  EXPECT_THAT(status.message(), HasSubstr("did not prove"));
}

TEST(Token, IsFreshEachTime) {
  const std::string token = make_token();
  EXPECT_EQ(token.size(), 32u);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, make_token());
  EXPECT_NE(random_u64(), random_u64());
}

}  // namespace
}  // namespace rondo
