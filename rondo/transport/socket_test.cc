#include "rondo/transport/socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "rondo/transport/free_port.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Deadline soon() { return Deadline(seconds(10)); }

SocketAddress address(const std::string& text) {
  return SocketAddress::parse(text).value();
}

Fd accept_one(int listener) {
  pollfd p{listener, POLLIN, 0};
  EXPECT_EQ(::poll(&p, 1, 10000), 1);
  return Fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
}

struct Pair {
  Fd client, server;
};

Pair connected_pair() {
  Fd listener = listen_on(address("127.0.0.1:0"), {}).value();
  Pair pair;
  pair.client =
      connect_to(local_address(listener.get()).value(), soon()).value();
  pair.server = accept_one(listener.get());
  return pair;
}

TEST(Fd, ClosesOnceAndMoves) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Fd reader(ends[0]);
  {
    Fd writer(ends[1]);
    Fd moved(std::move(writer));
    EXPECT_FALSE(writer.valid());
    EXPECT_EQ(moved.get(), ends[1]);
  }
  char c;
  EXPECT_EQ(::read(reader.get(), &c, 1), 0);  // the writer's end is closed
}

TEST(SocketAddress, ParsesNumbersOfBothFamilies) {
  EXPECT_EQ(address("10.0.0.1:4000").to_string(), "10.0.0.1:4000");
  EXPECT_EQ(address("10.0.0.1:4000").host_string(), "10.0.0.1");
  EXPECT_EQ(address("[fd00::1]:4000").to_string(), "[fd00::1]:4000");
  EXPECT_EQ(address("[fe80::1%lo]:9").to_string(), "[fe80::1%lo]:9");
  EXPECT_EQ(address("[::1]:65535").port(), 65535);
}

TEST(SocketAddress, RejectsWhatIsNotAnAddress) {
  for (const char* text :
       {"", ":", "10.0.0.1", "localhost:80", "10.0.0.1:", "10.0.0.1:65536",
        "10.0.0.1:-1", "10.0.0.1:4x", "fd00::1:80x", "[fd00::1]", "[]:80",
        "[10.0.0.1]:80", "10.0.0.256:1"})
    EXPECT_FALSE(SocketAddress::parse(text).ok()) << text;
}

TEST(SocketAddress, KnowsLoopbackAndLinkLocal) {
  EXPECT_TRUE(address("127.0.1.1:0").is_loopback());
  EXPECT_TRUE(address("[::1]:0").is_loopback());
  EXPECT_TRUE(address("[::ffff:127.0.0.1]:0").is_loopback());
  EXPECT_FALSE(address("[::ffff:10.0.0.1]:0").is_loopback());
  EXPECT_FALSE(address("128.0.0.1:0").is_loopback());
  EXPECT_FALSE(SocketAddress().is_loopback());
  EXPECT_TRUE(address("169.254.3.4:0").is_link_local());
  EXPECT_TRUE(address("[fe80::1%lo]:0").is_link_local());
  EXPECT_FALSE(address("169.253.3.4:0").is_link_local());
}

TEST(SocketAddress, ComparesWhatMatters) {
  EXPECT_EQ(address("1.2.3.4:5"), address("1.2.3.4:5"));
  EXPECT_FALSE(address("1.2.3.4:5") == address("1.2.3.4:6"));
  EXPECT_FALSE(address("1.2.3.4:5") == address("[::1]:5"));
  EXPECT_EQ(SocketAddress(), SocketAddress());
}

TEST(SocketAddress, ResolvesNamesAndSaysWhenItCannot) {
  const auto found = SocketAddress::resolve("localhost", 80).value();
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].is_loopback());
  EXPECT_EQ(found[0].port(), 80);
  const auto none = SocketAddress::resolve("no-such-host.invalid", 80);
  EXPECT_EQ(none.status().code(), Code::kUnavailable);
  EXPECT_THAT(none.status().message(), HasSubstr("no-such-host.invalid"));
}

TEST(PortRange, Parses) {
  EXPECT_EQ(PortRange::parse("").value().high, 0);
  EXPECT_EQ(PortRange::parse("5000").value().high, 5000);
  EXPECT_EQ(PortRange::parse("5000-5100").value().low, 5000);
  for (const char* text : {"0", "x", "5-", "-5", "6-5", "1-65536", "1-2-3"})
    EXPECT_FALSE(PortRange::parse(text).ok()) << text;
}

TEST(Listen, SocketsAreNonBlockingAndCloseOnExec) {
  Pair pair = connected_pair();
  Fd listener = listen_on(address("[::1]:0"), {}).value();
  for (int fd : {listener.get(), pair.client.get()}) {
    EXPECT_TRUE(::fcntl(fd, F_GETFL) & O_NONBLOCK);
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
  }
}

TEST(Listen, SkipsTakenPortsAndNamesTheRangeWhenItIsFull) {
  Fd first = listen_on(address("127.0.0.1:0"), {}).value();
  const int taken = local_address(first.get()).value().port();
  const auto full = listen_on(address("127.0.0.1:0"), {taken, taken});
  EXPECT_EQ(full.status().code(), Code::kResource);
  EXPECT_THAT(full.status().message(), HasSubstr(std::to_string(taken)));
  if (taken > 65000) GTEST_SKIP() << "no room above the port";
  Fd second = listen_on(address("127.0.0.1:0"), {taken, taken + 500}).value();
  EXPECT_GT(local_address(second.get()).value().port(), taken);
}

TEST(Connect, RefusalNamesTheAddress) {
  const SocketAddress gone = address(fmt::format("127.0.0.1:{}", free_port()));
  const auto result = connect_to(gone, soon());
  EXPECT_EQ(result.status().code(), Code::kUnavailable);
  EXPECT_THAT(result.status().message(), HasSubstr(gone.to_string()));
  EXPECT_THAT(result.status().message(), HasSubstr("refused"));
}

TEST(Connect, NeverReachesItself) {
  // A port as connect(2) chooses them, with nobody listening: among enough
  // tries the kernel picks that very port for the client's end.
  SocketAddress target;
  {
    Pair pair = connected_pair();
    target = local_address(pair.client.get()).value();
  }
  for (int i = 0; i < 30000; ++i)
    ASSERT_FALSE(connect_to(target, soon()).ok()) << "at try " << i;
}

TEST(Connect, WithinAHostNothingPacesTheStream) {
  Pair pair = connected_pair();
  set_stream_options(pair.server.get());
  for (const Fd* end : {&pair.client, &pair.server}) {
    char name[16] = {};
    socklen_t length = sizeof name;
    ASSERT_EQ(
        ::getsockopt(end->get(), IPPROTO_TCP, TCP_CONGESTION, name, &length),
        0);
    EXPECT_STREQ(name, "reno");
  }
}

TEST(SendRecv, MovesMoreThanTheSocketHolds) {
  Pair pair = connected_pair();
  std::string sent(8 << 20, '\0');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7);
  std::thread sender(
      [&] { EXPECT_TRUE(send_all(pair.client.get(), sent, soon()).ok()); });
  std::string got(sent.size(), '\0');
  EXPECT_TRUE(recv_all(pair.server.get(), got, soon()).ok());
  sender.join();
  EXPECT_EQ(sent, got);
}

TEST(SendRecv, EndsAtTheDeadline) {
  Pair pair = connected_pair();
  std::string data(64 << 20, 'x');
  EXPECT_EQ(
      send_all(pair.client.get(), data, Deadline(milliseconds(50))).code(),
      Code::kTimeout);
  EXPECT_EQ(
      recv_all(pair.client.get(), data, Deadline(milliseconds(50))).code(),
      Code::kTimeout);
}

TEST(SendRecv, APeerThatClosedIsNamed) {
  Pair pair = connected_pair();
  pair.server.reset();
  std::string data(4, 'x');
  const Status status = recv_all(pair.client.get(), data, soon());
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1:"));
  Status sent;
  while (sent.ok()) sent = send_all(pair.client.get(), data, soon());
  EXPECT_EQ(sent.code(), Code::kPeerLost);  // and no SIGPIPE
}

}  // namespace
}  // namespace rondo
