#include "rondo/cluster/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>

#include "rondo/cluster/raw_server.h"
#include "rondo/tensor/heap.h"

namespace rondo {
namespace {

using testing::HasSubstr;

constexpr uint32_t kEcho = 1, kFail = 2, kHold = 3;

// A server that says back what it hears, and what it holds until it is told.
struct Echo {
  explicit Echo(bool shares_memory = true, std::string token = "",
                bool borrows = false) {
    auto started = LinkServer::start(
        {.addresses = {SocketAddress::parse("127.0.0.1:0").value()},
         .token = std::move(token),
         .incarnation = 7,
         .shares_memory = shares_memory,
         .borrows = borrows},
        [this](uint64_t, LinkCall call, LinkServer::Answer answer) {
          if (!call.tensors.empty()) seen = call.tensors[0].data();
          if (call.method == kEcho)
            answer(LinkAnswer{std::move(call.body), std::move(call.tensors)});
          else if (call.method == kFail)
            answer(error(Code::kOutOfRange, "no more {}", call.body));
          else
            held.set_value(std::move(answer));
        },
        [this](uint64_t) { ++gone; });
    server = std::move(started).value();
  }
  LinkTarget target(uint64_t incarnation = 7) const {
    return {"/job:ps/task:0", incarnation, server->addresses()};
  }
  std::promise<LinkServer::Answer> held;
  std::atomic<int> gone = 0;
  std::atomic<const void*> seen = nullptr;  // where a call's first tensor was
  std::unique_ptr<LinkServer> server;
};

Deadline soon() { return Deadline(seconds(30)); }

Tensor counting(int64_t count) {
  Tensor tensor = Tensor::empty({count});
  float next = 0;
  for (float& x : tensor.span<float>()) x = next++;
  return tensor;
}

bool in_own_heap(const void* data) {
  return SharedHeap::process().offset_of(data, 1).has_value();
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

class LinkTest : public testing::TestWithParam<bool> {};

TEST_P(LinkTest, CarriesTensorsBothWays) {
  Echo echo(GetParam());
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  // The first calls may come before the heaps are mapped.
  for (int round = 0; round < 20; ++round) {
    const std::vector<Tensor> sent = {counting(3), counting(0),
                                      counting(100'000 + round)};
    auto answer = link->call({kEcho, "hi", sent}, soon());
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ(answer->body, "hi");
    ASSERT_EQ(answer->tensors.size(), 3u);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(equal(answer->tensors[i], sent[i]));
  }
  EXPECT_EQ(link->mapped(), GetParam());
}

TEST_P(LinkTest, AnswersGoWhereTheCallerWantsThem) {
  Echo echo(GetParam());
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  for (int round = 0; round < 5; ++round) {
    const Tensor sent = counting(50'000);
    Tensor into = Tensor::zeros({50'000});
    const Tensor other = Tensor::zeros({3});
    auto answer =
        link->call({kEcho, "", {sent, sent}, {into, other}}, soon()).value();
    EXPECT_EQ(answer.tensors[0].data(), into.data());
    EXPECT_TRUE(equal(into, sent));
    // Of another shape: not that one's.
    EXPECT_TRUE(equal(answer.tensors[1], sent));
    EXPECT_TRUE(equal(other, Tensor::zeros({3})));
  }
}

// What is shown stays the sender's until the receiver has let it go.
TEST_P(LinkTest, BorrowedTensorsAreGivenBack) {
  Echo echo(GetParam(), "", true);
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  int borrowed = 0;
  // Also what the socket does not take at once: the last of a borrowed tensor
  // goes with the connection's own lock not held.
  for (const int64_t count : {50'000, 50'000, 5'000'000, 50'000}) {
    const Tensor sent = counting(count);
    auto answer = link->call({kEcho, "", {sent}}, soon()).value();
    EXPECT_TRUE(equal(answer.tensors[0], sent));
    // The sender's heap is mapped a second time here.
    if (!in_own_heap(echo.seen)) ++borrowed;
    const Deadline deadline = soon();
    while (!sent.unique() && !deadline.passed()) std::this_thread::yield();
    EXPECT_TRUE(sent.unique());
  }
  // The first may come before the heaps are mapped.
  if (GetParam())
    EXPECT_GE(borrowed, 3);
  else
    EXPECT_EQ(borrowed, 0);
}

TEST_P(LinkTest, ManyThreadsAtOnce) {
  Echo echo(GetParam());
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const Tensor sent = counting(1 + 40'000 * (i % 3) + t);
        auto answer = link->call({kEcho, std::to_string(t), {sent}}, soon());
        if (answer.ok() && answer->body == std::to_string(t) &&
            equal(answer->tensors[0], sent))
          ++right;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 100);
}

INSTANTIATE_TEST_SUITE_P(Memory, LinkTest, testing::Bool(), [](const auto& p) {
  return p.param ? "Shared" : "Sockets";
});

TEST(PeerLink, FailuresComeBack) {
  Echo echo;
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  auto answer = link->call({kFail, "data", {}}, soon());
  EXPECT_EQ(answer.status().code(), Code::kOutOfRange);
  EXPECT_EQ(answer.status().message(), "no more data");
}

TEST(PeerLink, CallsEndWithTheServer) {
  Echo echo;
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  std::promise<Status> ended;
  link->call({kHold, "", {}}, [&](Result<LinkAnswer> answer) {
    ended.set_value(answer.status());
  });
  (void)echo.held.get_future().get();
  echo.server->stop();
  EXPECT_EQ(echo.gone, 1);
  const Status status = ended.get_future().get();
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_THAT(status.message(), HasSubstr("/job:ps/task:0"));
  EXPECT_EQ(link->call({kEcho, "", {}}, soon()).status().code(),
            Code::kPeerLost);
}

TEST(PeerLink, SilenceEndsIt) {
  // Says nothing, as a stopped process does.
  std::promise<void> over;
  RawServer mute(
      [until = over.get_future().share()](const Fd&) { until.wait(); });
  auto link =
      PeerLink::connect(mute.target(),
                        {.caller = "test", .patience = seconds(0.2)}, soon())
          .value();
  const Status status = link->call({kEcho, "", {}}, soon()).status();
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_THAT(status.message(), HasSubstr("has not answered for"));
  over.set_value();
}

// A slow way, on which a call takes longer than a peer may be silent.
TEST(PeerLink, WhoStillTakesWhatIsSentIsThere) {
  const Duration patience = seconds(1);
  const Tensor large = counting(16 << 20);
  RawServer slow([&](const Fd& fd) {
    const Deadline slowly(2 * patience);
    std::vector<char> bytes(512 << 10);
    for (size_t got = 0; got < large.bytes();) {
      // Time is what this is about.
      if (!slowly.passed()) std::this_thread::sleep_for(patience / 40);
      pollfd p{fd.get(), POLLIN, 0};
      ::poll(&p, 1, -1);
      const ssize_t n = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
      if (n <= 0) return;
      got += static_cast<size_t>(n);
    }
    const std::string answer =
        wire::encode({.kind = wire::Kind::kAnswer, .id = 1}, false).front;
    EXPECT_EQ(::send(fd.get(), answer.data(), answer.size(), 0),
              static_cast<ssize_t>(answer.size()));
    // What is left, until the other side goes.
    pollfd p{fd.get(), POLLIN, 0};
    do ::poll(&p, 1, -1);
    while (::recv(fd.get(), bytes.data(), bytes.size(), 0) > 0);
  });
  auto link =
      PeerLink::connect(slow.target(), {.caller = "test", .patience = patience},
                        soon())
          .value();
  const Status status = link->call({kEcho, "", {large}}, soon()).status();
  EXPECT_TRUE(status.ok()) << status.message();
}

// After a few calls in a row their thread reads the answers itself.
constexpr int kInARow = 20;

void call_in_a_row(PeerLink& link) {
  for (int i = 0; i < kInARow; ++i) {
    const auto answer = link.call({kEcho, std::to_string(i), {}}, soon());
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    ASSERT_EQ(answer->body, std::to_string(i));
  }
}

TEST(PeerLink, CallsThatNobodyWaitsForAreAnsweredAfterCallsInARow) {
  Echo echo;
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  for (int round = 0; round < 5; ++round) {
    call_in_a_row(*link);
    std::promise<std::string> answered;
    link->call({kEcho, "hi", {}}, [&](Result<LinkAnswer> answer) {
      answered.set_value(std::move(answer).value().body);
    });
    EXPECT_EQ(answered.get_future().get(), "hi");
  }
}

// The answers of several come in another order than their calls.
TEST(PeerLink, WhoReadsGivesOthersTheirAnswers) {
  Echo echo;
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  call_in_a_row(*link);
  auto first = std::async(std::launch::async, [&] {
    return link->call({kHold, "", {}}, soon()).value().body;
  });
  const auto answer = echo.held.get_future().get();
  call_in_a_row(*link);
  answer(LinkAnswer{"late", {}});
  EXPECT_EQ(first.get(), "late");
}

TEST(PeerLink, WhoReadsStopsAtItsDeadline) {
  Echo echo;
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  call_in_a_row(*link);
  EXPECT_EQ(
      link->call({kHold, "", {}}, Deadline(seconds(0.01))).status().code(),
      Code::kTimeout);
  call_in_a_row(*link);
}

TEST(PeerLink, WhoReadsIsToldOfTheEnd) {
  for (const bool by_server : {true, false}) {
    Echo echo;
    auto link =
        PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
    call_in_a_row(*link);
    auto waiting = std::async(std::launch::async, [&] {
      return link->call({kHold, "", {}}, soon()).status();
    });
    (void)echo.held.get_future().get();
    if (by_server)
      echo.server->stop();
    else
      link->close(error(Code::kCancelled, "closed by the test"));
    EXPECT_EQ(waiting.get().code(),
              by_server ? Code::kPeerLost : Code::kCancelled);
  }
}

TEST(PeerLink, BreaksForAllWhoHaveIt) {
  Echo echo;
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  std::promise<Status> ended;
  link->call({kHold, "", {}}, [&](Result<LinkAnswer> answer) {
    ended.set_value(answer.status());
  });
  (void)echo.held.get_future().get();
  link->close(error(Code::kCancelled, "the server was stopped"));
  EXPECT_THAT(ended.get_future().get().message(), HasSubstr("was stopped"));
  EXPECT_EQ(link->call({kEcho, "", {}}, soon()).status().code(),
            Code::kCancelled);
}

TEST(PeerLink, AnswersAfterTheClientHasGoneAreDropped) {
  Echo echo;
  auto link =
      PeerLink::connect(echo.target(), {.caller = "test"}, soon()).value();
  link->call({kHold, "", {}}, [](const Result<LinkAnswer>&) {});
  auto answer = echo.held.get_future().get();
  link.reset();
  answer(LinkAnswer{"late", {counting(100'000)}});
}

TEST(PeerLink, AnotherStartOfTheTaskIsAnotherTask) {
  Echo echo;
  auto link = PeerLink::connect(echo.target(8), {.caller = "test"}, soon());
  EXPECT_THAT(link.status().message(), HasSubstr("/job:ps/task:0"));
  EXPECT_EQ(link.status().code(), Code::kUnavailable);
}

TEST(PeerLink, NeedsTheToken) {
  Echo echo(true, "secret");
  auto link = PeerLink::connect(echo.target(), {.caller = "test"}, soon());
  EXPECT_EQ(link.status().code(), Code::kPermission);
  EXPECT_TRUE(PeerLink::connect(echo.target(),
                                {.token = "secret", .caller = "test"}, soon())
                  .ok());
}

}  // namespace
}  // namespace rondo
