#include "rondo/collectives/mailbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <numeric>
#include <string>
#include <vector>

#include "rondo/collectives/spawn_ranks.h"

namespace rondo {
namespace {

using testing::HasSubstr;

// How a message ended.
struct End {
  Status status;
  int peer = -2;
};

// A callback, and the end that it will hand over.
std::pair<Mailbox::Done, std::future<End>> expect_end() {
  auto promise = std::make_shared<std::promise<End>>();
  auto future = promise->get_future();
  return {[promise](const Status& status, int peer) {
            promise->set_value({status, peer});
          },
          std::move(future)};
}

std::future<End> send(Mailbox& box, std::vector<int32_t>& from, int peer,
                      int64_t tag = 0, double timeout = 30) {
  auto [done, end] = expect_end();
  box.send(from, {.peer = peer, .tag = tag, .timeout = seconds(timeout)},
           std::move(done));
  return std::move(end);
}

std::future<End> recv(Mailbox& box, std::vector<int32_t>& into, int peer,
                      int64_t tag = 0, double timeout = 30) {
  auto [done, end] = expect_end();
  box.recv(into, {.peer = peer, .tag = tag, .timeout = seconds(timeout)},
           std::move(done));
  return std::move(end);
}

std::vector<int32_t> numbers(size_t n, int32_t first) {
  std::vector<int32_t> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

// Short, just at the limit, longer, and longer than a pipe.
constexpr size_t kLengths[] = {0, 1, 8192, 8193, 1 << 20};

class MailboxOver : public testing::TestWithParam<const char*> {};

TEST_P(MailboxOver, ReceivesPostedFirstAndLast) {
  spawn_ranks(GetParam(), 3, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    const int to = (comm.rank() + 1) % 3;
    const int from = (comm.rank() + 2) % 3;
    for (const size_t length : kLengths)
      for (const bool first : {true, false}) {
        auto out = numbers(length, comm.rank());
        std::vector<int32_t> in(length);
        std::future<End> received;
        if (first) received = recv(*box, in, from);
        auto sent = send(*box, out, to);
        if (!first) received = recv(*box, in, from);
        EXPECT_TRUE(sent.get().status.ok());
        const End end = received.get();
        EXPECT_TRUE(end.status.ok()) << end.status.to_string();
        EXPECT_EQ(end.peer, from);
        EXPECT_EQ(in, numbers(length, from));
      }
  });
}

TEST_P(MailboxOver, TagsAndSendersAreToldApart) {
  spawn_ranks(GetParam(), 3, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    for (const size_t length : kLengths) {
      if (comm.rank() != 0) {
        auto one = numbers(length, 10 * comm.rank());
        auto two = numbers(length, 10 * comm.rank() + 1);
        auto a = send(*box, one, 0, 1);
        auto b = send(*box, two, 0, 2);
        EXPECT_TRUE(a.get().status.ok());
        EXPECT_TRUE(b.get().status.ok());
        continue;
      }
      std::vector<int32_t> in(length);
      for (const int tag : {2, 1})
        for (const int peer : {2, 1}) {
          const Status status = recv(*box, in, peer, tag).get().status;
          EXPECT_TRUE(status.ok()) << status.message();
          EXPECT_EQ(in, numbers(length, 10 * peer + tag - 1));
        }
    }
  });
}

TEST_P(MailboxOver, MessagesOfOneTagKeepTheirOrder) {
  spawn_ranks(GetParam(), 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    std::vector<std::vector<int32_t>> data;
    std::vector<std::future<End>> ends;
    for (int i = 0; i < 40; ++i)
      data.push_back(comm.rank() == 0 ? numbers(i % 2 == 0 ? 4 : 9000, i)
                                      : numbers(i % 2 == 0 ? 4 : 9000, -1));
    for (auto& one : data)
      ends.push_back(comm.rank() == 0 ? send(*box, one, 1)
                                      : recv(*box, one, 0));
    for (auto& end : ends) EXPECT_TRUE(end.get().status.ok());
    for (int i = 0; i < 40; ++i) EXPECT_EQ(data[i][0], i);
  });
}

TEST_P(MailboxOver, AnySourceSaysWhoItWas) {
  spawn_ranks(GetParam(), 4, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    for (const int64_t tag : {4, 9000}) {
      const auto length = static_cast<size_t>(tag);
      if (comm.rank() != 0) {
        auto mine = numbers(length, comm.rank());
        EXPECT_TRUE(send(*box, mine, 0, tag).get().status.ok());
        continue;
      }
      int seen = 0;
      for (int i = 1; i < 4; ++i) {
        std::vector<int32_t> in(length);
        const End end = recv(*box, in, Mailbox::kAnySource, tag).get();
        EXPECT_TRUE(end.status.ok());
        EXPECT_EQ(in, numbers(length, end.peer));
        seen |= 1 << end.peer;
      }
      EXPECT_EQ(seen, 0b1110);
    }
    comm.barrier().value();
  });
}

TEST_P(MailboxOver, DifferentCountsAreAnErrorWithBoth) {
  spawn_ranks(GetParam(), 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    std::vector<int32_t> data(comm.rank() == 0 ? 20000 : 20001);
    const End end =
        (comm.rank() == 0 ? send(*box, data, 1) : recv(*box, data, 0)).get();
    EXPECT_EQ(end.status.code(), Code::kMismatch);
    EXPECT_THAT(end.status.message(), HasSubstr("20000 i32"));
    EXPECT_THAT(end.status.message(), HasSubstr("20001 i32"));
    comm.barrier().value();  // the communicator is not concerned
  });
}

TEST_P(MailboxOver, TimeOutEndsOnlyItsMessage) {
  spawn_ranks(GetParam(), 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    std::vector<int32_t> data = numbers(20000, comm.rank());
    End late = (comm.rank() == 0 ? recv(*box, data, 1, 7, 0.05)
                                 : send(*box, data, 0, 8, 0.05))
                   .get();
    EXPECT_EQ(late.status.code(), Code::kTimeout);
    EXPECT_THAT(late.status.message(), HasSubstr("rank"));
    comm.barrier().value();
    // Rank 0 asks for what rank 1 has given up, and gets what follows it.
    if (comm.rank() == 0) {
      EXPECT_THAT(recv(*box, data, 1, 8).get().status.message(),
                  HasSubstr("gave it up"));
      EXPECT_TRUE(recv(*box, data, 1, 9).get().status.ok());
    } else {
      EXPECT_TRUE(send(*box, data, 0, 9).get().status.ok());
    }
    comm.barrier().value();
  });
}

// Nobody looks at the sender's line any more when the offer is accepted.
TEST_P(MailboxOver, WhoAsksForWhatWasGivenUpIsToldAtOnce) {
  spawn_ranks(GetParam(), 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    std::vector<int32_t> data = numbers(20000, comm.rank());
    if (comm.rank() == 1) {
      EXPECT_EQ(send(*box, data, 0, 8, 0.05).get().status.code(),
                Code::kTimeout);
      comm.barrier().value();
      comm.barrier().value();
      EXPECT_TRUE(send(*box, data, 0, 8).get().status.ok());
    } else {
      comm.barrier().value();
      const End end = recv(*box, data, Mailbox::kAnySource, 8, 20).get();
      EXPECT_THAT(end.status.message(), HasSubstr("gave it up"));
      EXPECT_EQ(end.peer, 1);
      comm.barrier().value();
      // The mailbox goes on.
      EXPECT_TRUE(recv(*box, data, 1, 8).get().status.ok());
      EXPECT_EQ(data, numbers(20000, 1));
    }
    comm.barrier().value();
  });
}

// One of them is half sent when its time is over.
TEST_P(MailboxOver, ShortMessagesThatNobodyTakesTimeOutAlone) {
  spawn_ranks(GetParam(), 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    constexpr int kMany = 1000;
    std::vector<int32_t> data(8192);
    if (comm.rank() == 0) {
      std::vector<std::vector<int32_t>> all;
      std::vector<std::future<End>> ends;
      for (int i = 0; i < kMany; ++i) all.push_back(numbers(8192, i));
      for (auto& one : all) ends.push_back(send(*box, one, 1, 1, 0.5));
      int32_t sent = 0;
      for (auto& end : ends) {
        const Status status = end.get().status;
        if (status.ok()) ++sent;
        EXPECT_TRUE(status.ok() || status.code() == Code::kTimeout);
      }
      EXPECT_LT(sent, kMany);
      for (auto& one : all) std::fill(one.begin(), one.end(), -1);
      std::vector<int32_t> count{sent};
      comm.broadcast(count).value();
      EXPECT_TRUE(send(*box, data, 1, 2).get().status.ok());
    } else {
      std::vector<int32_t> count(1);
      comm.broadcast(count).value();
      for (int32_t i = 0; i < count[0]; ++i) {
        ASSERT_TRUE(recv(*box, data, 0, 1).get().status.ok());
        ASSERT_EQ(data, numbers(8192, i));
      }
      EXPECT_TRUE(recv(*box, data, 0, 2).get().status.ok());
    }
    comm.barrier().value();
  });
}

// What comes for a message that has ended is not written to its memory. Says
// how the message ended: seldom rank 1 is so quick that all of it came while
// rank 0 accepted the offer, before it was aborted.
Code abort_an_accepted_message(const std::string& transport) {
  Code ended = Code::kOk;
  spawn_ranks(transport, 2, [&](Communicator& comm) {
    // The mailbox's end waits for the callback, which uses all of these.
    std::latch inside(1);
    std::latch release(1);
    std::vector<int32_t> token(1);
    std::vector<int32_t> data = numbers(9000, 0);
    auto box = Mailbox::open(comm).value();
    if (comm.rank() == 1) {
      comm.barrier().value();
      EXPECT_TRUE(send(*box, token, 0, 1).get().status.ok());
      auto sent = send(*box, data, 0, 2);
      comm.barrier().value();
      EXPECT_TRUE(sent.get().status.ok());  // it lies in the channel
      comm.barrier().value();
      comm.barrier().value();
      return;
    }
    // Rank 0's thread is kept in a callback, so that nothing moves by itself.
    box->recv(token, {.peer = 1, .tag = 1}, [&](const Status&, int) {
      inside.count_down();
      release.wait();
    });
    comm.barrier().value();
    inside.wait();
    comm.barrier().value();
    auto end = recv(*box, data, 1, 2);  // accepts the offer
    comm.barrier().value();
    box->abort("enough");
    ended = end.get().status.code();
    std::fill(data.begin(), data.end(), -1);
    EXPECT_FALSE(recv(*box, token, 1, 3).get().status.ok());
    EXPECT_EQ(data, std::vector<int32_t>(9000, -1));
    release.count_down();
    comm.barrier().value();
  });
  return ended;
}

TEST_P(MailboxOver, MemoryIsLeftAloneAfterAFailure) {
  Code ended = Code::kOk;
  for (int tries = 0; ended == Code::kOk && tries < 20; ++tries)
    ended = abort_an_accepted_message(GetParam());
  EXPECT_EQ(ended, Code::kCancelled);
}

TEST_P(MailboxOver, WhoCloses) {
  spawn_ranks(GetParam(), 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    std::vector<int32_t> data{1, 2};
    if (comm.rank() == 0) {
      // What was sent before the end still arrives.
      EXPECT_TRUE(send(*box, data, 1).get().status.ok());
      box.reset();
      comm.barrier().value();
      return;
    }
    EXPECT_TRUE(recv(*box, data, 0).get().status.ok());
    const End end = recv(*box, data, 0).get();
    EXPECT_EQ(end.status.code(), Code::kPeerLost);
    EXPECT_THAT(end.status.message(), HasSubstr("has closed"));
    comm.barrier().value();
  });
}

TEST_P(MailboxOver, ClosingEndsWhatIsUnderWay) {
  spawn_ranks(GetParam(), 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    std::vector<int32_t> data(2);
    auto end = recv(*box, data, 1 - comm.rank());
    box.reset();
    EXPECT_FALSE(end.get().status.ok());
  });
}

TEST_P(MailboxOver, ACallbackMayLetItGo) {
  spawn_ranks(GetParam(), 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    std::vector<int32_t> data(2);
    if (comm.rank() == 1) {
      EXPECT_TRUE(send(*box, data, 0).get().status.ok());
    } else {
      std::promise<Status> over;
      Mailbox& mailbox = *box;
      // On its thread, or here: whichever finds the message.
      mailbox.recv(data, {.peer = 1}, [&](const Status& status, int) {
        box.reset();
        over.set_value(status);
      });
      EXPECT_TRUE(over.get_future().get().ok());
    }
    comm.barrier().value();
  });
}

TEST(Mailbox, WrongPeersAreNamed) {
  spawn_ranks("inproc", 2, [](Communicator& comm) {
    auto box = Mailbox::open(comm).value();
    std::vector<int32_t> data(2);
    EXPECT_THAT(send(*box, data, 2).get().status.message(),
                HasSubstr("which has 2 ranks"));
    EXPECT_EQ(recv(*box, data, comm.rank()).get().status.code(),
              Code::kInvalidArgument);
    comm.barrier().value();
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, MailboxOver,
                         testing::Values("inproc", "shm", "tcp"));

}  // namespace
}  // namespace rondo
