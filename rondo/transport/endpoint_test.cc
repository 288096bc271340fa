#include "rondo/transport/endpoint.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rondo/transport/link_subject.h"

namespace rondo {
namespace {

constexpr uint64_t kGroup = 77;

// Remembers what it hears.
class Ears : public GroupHandler {
 public:
  void on_lost(int peer, const Status& why) override {
    std::lock_guard lock(mutex);
    heard.push_back("lost " + std::to_string(peer) + ": " + why.message());
  }
  void on_left(int peer) override {
    std::lock_guard lock(mutex);
    heard.push_back("left " + std::to_string(peer));
  }
  void on_abort(int peer, Status failure) override {
    std::lock_guard lock(mutex);
    heard.push_back("abort by " + std::to_string(peer) + ": " +
                    failure.to_string());
  }
  void on_stream() override { streams.fetch_add(1); }
  std::string report() override { return "busy"; }

  bool wait_for(const std::string& text) {
    for (const Deadline deadline(seconds(10)); !deadline.passed();) {
      {
        std::lock_guard lock(mutex);
        for (const auto& line : heard)
          if (line.find(text) != std::string::npos) return true;
      }
      poll(nullptr, 0, 2);
    }
    return false;
  }

  std::mutex mutex;
  std::vector<std::string> heard;  // guarded by mutex
  std::atomic<int> streams{0};
};

// n endpoints of one process, connected.
std::vector<std::shared_ptr<Endpoint>> connected(int n,
                                                 const std::string& token) {
  std::vector<std::shared_ptr<Endpoint>> ends;
  std::vector<Card> cards;
  for (int r = 0; r < n; ++r) {
    ends.push_back(
        Endpoint::start({.interface = "lo", .token = token}).value());
    // As it would come out of a store.
    cards.push_back(Card::parse(ends.back()->card().to_string()).value());
  }
  std::vector<std::thread> threads;
  for (int r = 0; r < n; ++r)
    threads.emplace_back([&, r] {
      ends[static_cast<size_t>(r)]
          ->connect(r, cards, Deadline(seconds(20)))
          .value();
    });
  for (auto& t : threads) t.join();
  return ends;
}

TEST(Endpoint, ExchangesQueriesAndAborts) {
  auto ends = connected(3, "secret");
  std::vector<Ears> ears(3);
  for (size_t r = 0; r < 3; ++r) ends[r]->attach(kGroup, &ears[r]);
  const std::vector<int> all{0, 1, 2};
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r)
    threads.emplace_back([&, r] {
      auto got = ends[static_cast<size_t>(r)]->exchange(
          kGroup, 5, all, "from " + std::to_string(r), Deadline(seconds(20)));
      ASSERT_TRUE(got.ok());
      EXPECT_EQ(*got, (std::vector<std::string>{"from 0", "from 1", "from 2"}));
    });
  for (auto& t : threads) t.join();

  const auto answers =
      ends[0]->query(kGroup, std::vector<int>{1, 2}, seconds(10));
  EXPECT_EQ(answers[0], "busy");
  EXPECT_EQ(answers[1], "busy");

  ends[2]->tell(0, {ControlType::kAbort, kGroup,
                    static_cast<uint64_t>(Code::kMismatch), "no"});
  EXPECT_TRUE(ears[0].wait_for("abort by 2: mismatch: no"));
  for (auto& end : ends) end->detach(kGroup);
}

TEST(Endpoint, TellsALeaveFromALoss) {
  auto ends = connected(3, "");
  Ears ears;
  ends[0]->attach(kGroup, &ears);
  ends[1].reset();  // closes in good order
  EXPECT_TRUE(ears.wait_for("left 1"));
  EXPECT_TRUE(ends[0]->left(1));
  EXPECT_TRUE(ends[0]->lost(1).ok());
  auto result = ends[0]->exchange(kGroup, 1, std::vector<int>{0, 1, 2}, "x",
                                  Deadline(seconds(20)));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::kPeerLost);
  EXPECT_NE(result.status().message().find("rank 1"), std::string::npos);
  ends[0]->detach(kGroup);
}

TEST(Endpoint, StreamsArriveWhereTheyBelong) {
  auto ends = connected(2, "t");
  Ears ears;
  ends[1]->attach(kGroup, &ears);
  Fd out = ends[0]->open_stream(1, kGroup, 3, Deadline(seconds(20))).value();
  for (const Deadline deadline(seconds(10));
       ears.streams.load() == 0 && !deadline.passed();)
    poll(nullptr, 0, 1);
  EXPECT_FALSE(ends[1]->take_stream(0, kGroup, 2).has_value());
  auto in = ends[1]->take_stream(0, kGroup, 3);
  ASSERT_TRUE(in.has_value());
  send_all(out.get(), std::string_view("hello"), Deadline(seconds(5))).value();
  char text[5];
  recv_all(in->get(), text, Deadline(seconds(5))).value();
  EXPECT_EQ(std::string(text, 5), "hello");
  ends[1]->detach(kGroup);
}

TEST(Endpoint, AStreamMayComeBeforeItsGroup) {
  auto ends = connected(2, "t");
  Fd out = ends[0]->open_stream(1, kGroup, 0, Deadline(seconds(20))).value();
  send_all(out.get(), std::string_view("early"), Deadline(seconds(5))).value();
  // The group is attached nowhere yet.
  std::optional<Fd> in;
  for (const Deadline deadline(seconds(10)); !in && !deadline.passed();) {
    in = ends[1]->take_stream(0, kGroup, 0);
    poll(nullptr, 0, 1);
  }
  ASSERT_TRUE(in.has_value());
  char text[5];
  recv_all(in->get(), text, Deadline(seconds(5))).value();
  EXPECT_EQ(std::string(text, 5), "early");
}

TEST(Endpoint, WhatComesForAClosedGroupIsNotKept) {
  auto ends = connected(2, "t");
  Ears ears;
  ends[1]->attach(kGroup, &ears);
  ends[1]->detach(kGroup);
  Fd out = ends[0]->open_stream(1, kGroup, 0, Deadline(seconds(20))).value();
  // A stream that is kept is silent; one that is dropped ends.
  pollfd end{out.get(), POLLIN, 0};
  ASSERT_EQ(poll(&end, 1, 10'000), 1);
  char byte = 0;
  EXPECT_LE(recv(out.get(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_FALSE(ends[1]->take_stream(0, kGroup, 0).has_value());
}

// A rank that is ahead has its link before this one knows who is who, and may
// be lost again meanwhile.
TEST(Endpoint, ALinkMayBeLostBeforeConnect) {
  auto a = Endpoint::start({.interface = "lo", .token = "t"}).value();
  auto b = Endpoint::start({.interface = "lo", .token = "t"}).value();
  const LinkSubject subject{
      .target = a->card().nonce, .caller = b->card().nonce, .rank = 1};
  Fd link = connect_to(a->card().addresses[0], Deadline(seconds(10))).value();
  handshake_as_client(link.get(), "t", Purpose::kControl, subject.pack(),
                      Deadline(seconds(10)))
      .value();
  link.reset();
  // While the loss is being noticed.
  a->connect(0, {a->card(), b->card()}, Deadline(seconds(10))).value();
  Status lost;
  for (const Deadline deadline(seconds(10)); lost.ok() && !deadline.passed();) {
    lost = a->lost(1);
    poll(nullptr, 0, 1);
  }
  EXPECT_EQ(lost.code(), Code::kPeerLost);
  EXPECT_NE(lost.message().find("rank 1"), std::string::npos) << lost.message();
}

TEST(Endpoint, AWrongTokenIsSaidAtOnce) {
  auto a = Endpoint::start({.interface = "lo", .token = "right"}).value();
  auto b = Endpoint::start({.interface = "lo", .token = "wrong"}).value();
  const std::vector<Card> cards{a->card(), b->card()};
  const Status status = b->connect(1, cards, Deadline(seconds(60)));
  EXPECT_EQ(status.code(), Code::kPermission);
  EXPECT_NE(status.message().find("RONDO_TOKEN"), std::string::npos)
      << status.message();
}

TEST(Endpoint, ACardOfSomebodyElseIsNotTakenForThePeer) {
  auto a = Endpoint::start({.interface = "lo"}).value();
  auto b = Endpoint::start({.interface = "lo"}).value();
  Card stale = a->card();
  stale.nonce ^= 1;  // its port has a new owner
  const Status status =
      b->connect(1, {stale, b->card()}, Deadline(seconds(0.5)));
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("cannot connect to rank 0"),
            std::string::npos)
      << status.message();
}

TEST(Card, ListsOfProcessorsAddUp) {
  std::set<int> cpus;
  add_cpus("0-2,7", cpus);
  add_cpus("2-3", cpus);
  add_cpus("x,-", cpus);
  EXPECT_EQ(cpus, (std::set<int>{0, 1, 2, 3, 7}));
  std::set<int> mine;
  add_cpus(usable_cpus(), mine);
  EXPECT_FALSE(mine.empty());
}

TEST(Card, NonsenseIsExplained) {
  EXPECT_FALSE(Card::parse("").ok());
  EXPECT_FALSE(Card::parse("hello world").ok());
  EXPECT_FALSE(Card::parse("rondo1 x y z").ok());
}

}  // namespace
}  // namespace rondo
