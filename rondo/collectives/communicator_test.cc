// What a caller meets: wrong arguments, works, cancelling, closing.
#include "rondo/collectives/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/interrupt.h"
#include "rondo/collectives/spawn_ranks.h"

namespace rondo {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

Communicator lone() { return Communicator::connect(nullptr, 0, 1).value(); }

TEST(Communicator, OneRankNeedsNoStore) {
  Communicator comm = lone();
  std::vector<float> x{1, 2};
  std::vector<float> y{0, 0};
  comm.allreduce(x).value();
  comm.allreduce(ConstView(x), y).value();
  EXPECT_EQ(y, x);
  comm.allgather(x, y).value();
  comm.barrier().value();
  EXPECT_EQ(comm.size(), 1);
  EXPECT_EQ(comm.transport_to(0), "self");
  EXPECT_THAT(comm.send(x, 0).message(), HasSubstr("not another rank"));
}

TEST(Communicator, WrongArgumentsAreExplained) {
  Communicator comm = lone();
  std::vector<float> two(2);
  std::vector<float> three(3);
  std::vector<double> other(2);
  EXPECT_EQ(comm.allreduce(ConstView(two), three).message(),
            "allreduce: output has 3 elements, expected 2");
  EXPECT_EQ(comm.allreduce(ConstView(two), other).message(),
            "allreduce: input is f32, output is f64");
  EXPECT_THAT(comm.allreduce(two, {.op = ReduceOp::kBand}).message(),
              HasSubstr("band"));
  EXPECT_THAT(comm.allreduce(two, {.op = ReduceOp::kUser}).message(),
              HasSubstr("CallOptions::user is empty"));
  EXPECT_THAT(comm.broadcast(two, {.root = 1}).message(),
              HasSubstr("root 1 is not a rank of 0..0"));
  EXPECT_THAT(comm.allreduce(two, {.algorithm = "rign"}).message(),
              HasSubstr("there are auto, naive, star"));
  EXPECT_THAT(comm.allreduce(View(nullptr, 2, DType::kF32)).message(),
              HasSubstr("nullptr"));
  EXPECT_THAT(comm.allreduce(View(two.data(), -1, DType::kF32)).message(),
              HasSubstr("negative count"));
  EXPECT_THAT(Communicator().barrier().message(), HasSubstr("is empty"));
  EXPECT_EQ(Communicator().rank(), -1);
  EXPECT_EQ(Communicator().size(), 0);
  EXPECT_EQ(Communicator().barrier_async().wait().code(),
            Code::kInvalidArgument);
  // None of this broke the communicator.
  comm.barrier().value();
}

TEST(Communicator, WrongOptionsAreExplained) {
  EXPECT_THAT(Communicator::connect(nullptr, 0, 1, {.transport = "rdma"})
                  .status()
                  .message(),
              HasSubstr("there are auto, inproc, shm, tcp"));
  EXPECT_THAT(Communicator::connect(nullptr, 3, 2).status().message(),
              HasSubstr("rank 3 of 2"));
  EXPECT_THAT(Communicator::connect(nullptr, 0, 2).status().message(),
              HasSubstr("needs a store"));
  EXPECT_THAT(Communicator::connect(nullptr, 0, 1, {.algorithm = "nope"})
                  .status()
                  .message(),
              HasSubstr("no allreduce algorithm"));
  const Env env(std::map<std::string, std::string>{{"RONDO_TIMEOUT", "-1"}});
  EXPECT_THAT(CommunicatorOptions::from_env(env).status().message(),
              HasSubstr("RONDO_TIMEOUT=-1"));
}

TEST(Communicator, ARankThatNeverStartsIsNamed) {
  auto store = make_memory_store();
  const auto result =
      Communicator::connect(store, 1, 3, {.connect_timeout = 0.2});
  EXPECT_EQ(result.status().code(), Code::kTimeout);
  EXPECT_THAT(result.status().message(), HasSubstr("0, 2"));
}

TEST(Work, WaitsWithATimeoutAndGoesOn) {
  std::latch late(1);
  spawn_ranks("inproc", 2, [&](Communicator& comm) {
    std::vector<float> x{1};
    if (comm.rank() == 0) {
      Work work = comm.allreduce_async(x);
      EXPECT_FALSE(work.test());
      const Status status = work.wait(std::chrono::milliseconds(20));
      EXPECT_EQ(status.code(), Code::kTimeout);
      EXPECT_THAT(status.message(), HasSubstr("allreduce #1"));
      EXPECT_TRUE(work.error().ok());
      late.count_down();
      work.wait().value();
      EXPECT_TRUE(work.test());
    } else {
      late.wait();
      comm.allreduce(x).value();
    }
    EXPECT_EQ(x[0], 2);
  });
}

TEST(Work, OutlivesItsCommunicator) {
  spawn_ranks("inproc", 2, [&](Communicator& comm) {
    std::vector<float> x(1000, 1.0f);
    Communicator half = comm.split(0).value();
    Work work = half.allreduce_async(x);
    half = Communicator();
    work.wait().value();
    EXPECT_EQ(x[999], 2);
  });
}

TEST(Work, CancellingEndsTheCommunicatorEverywhere) {
  spawn_ranks("tcp", 3, [&](Communicator& comm) {
    std::vector<float> x(8);
    Status status;
    if (comm.rank() == 0) {
      Work work = comm.allreduce_async(x);
      work.cancel();
      status = work.wait();
    } else if (comm.rank() == 1) {
      status = comm.allreduce(x);
    } else {
      status = comm.barrier();  // whatever it calls, it is told
    }
    EXPECT_FALSE(status.ok());
    if (status.code() != Code::kMismatch) {
      EXPECT_EQ(status.code(), Code::kCancelled) << status.to_string();
      EXPECT_THAT(status.message(), HasSubstr("cancelled by rank 0"));
    }
    EXPECT_FALSE(comm.barrier().ok());
  });
}

TEST(Communicator, AbortSaysWhyOnEveryRank) {
  for (const char* transport : {"inproc", "tcp"})
    spawn_ranks(transport, 3, [&](Communicator& comm) {
      if (comm.rank() == 1) comm.abort("the loss is not a number");
      const Status status = comm.barrier();
      EXPECT_EQ(status.code(), Code::kCancelled);
      EXPECT_THAT(status.message(),
                  HasSubstr("aborted by rank 1: the loss is not a number"));
    });
}

// As many elements in total, but not the same of each rank.
TEST(Communicator, DifferentCountsOfOneRankAreAMismatch) {
  for (const char* transport : {"inproc", "tcp"})
    for (int64_t other : {20, 6000})
      spawn_ranks(transport, 2, [&](Communicator& comm) {
        std::vector<double> mine(10, 1.0);
        std::vector<double> all(static_cast<size_t>(10 + other));
        std::vector<int64_t> counts{10, other};
        if (comm.rank() == 1) std::swap(counts[0], counts[1]);
        const Status status = comm.allgatherv(mine, all, counts);
        EXPECT_EQ(status.code(), Code::kMismatch) << status.to_string();
        EXPECT_THAT(status.message(),
                    ContainsRegex("called allgatherv #1 .*checksum.*called "
                                  "allgatherv #1 .*checksum"));
      });
}

// Rank 1 sends 10 elements where rank 0 expects others. Long and short messages
// take different ways.
TEST(Communicator, AllToAllvOfOtherLengthsIsAMismatch) {
  for (const char* transport : {"inproc", "tcp"})
    for (int64_t other : {20, 6000})
      spawn_ranks(transport, 2, [&](Communicator& comm) {
        const bool first = comm.rank() == 0;
        const std::vector<int64_t> sends =
            first ? std::vector<int64_t>{0, 10} : std::vector<int64_t>{10, 0};
        const std::vector<int64_t> receives =
            first ? std::vector<int64_t>{0, other}
                  : std::vector<int64_t>{10, 0};
        std::vector<double> mine(10, 1.0);
        std::vector<double> all(static_cast<size_t>(first ? other : 10));
        Status status = comm.all_to_allv(mine, sends, all, receives);
        // Rank 1 has all that it expects, and hears of it at the latest here.
        if (status.ok()) status = comm.barrier();
        EXPECT_EQ(status.code(), Code::kMismatch) << status.to_string();
        EXPECT_THAT(
            status.message(),
            HasSubstr(fmt::format(
                "rank 0 expects a message of {} elements from rank 1", other)));
        EXPECT_THAT(status.message(), HasSubstr("which sends 10"));
      });
}

// Rank 0 gives a blocking call up while rank 1 stays away from it.
void interrupt_rank_0(const std::string& transport,
                      const std::function<Status(Communicator&)>& call) {
  std::latch over(2);
  spawn_ranks(transport, 2, [&](Communicator& comm) {
    if (comm.rank() == 0) {
      struct GivesUp : Interrupt {
        bool ask() override { return true; }
      } interrupt;
      EXPECT_EQ(call(comm).code(), Code::kCancelled);
    }
    over.arrive_and_wait();
    // A small one may be whole for rank 1, but is the last.
    Status told = call(comm);
    if (told.ok()) told = comm.barrier();
    EXPECT_EQ(told.code(), Code::kCancelled) << told.to_string();
    EXPECT_THAT(told.message(), HasSubstr("rank 0"));
  });
}

TEST(Communicator, AnInterruptEndsBlockingCalls) {
  for (const std::string transport : {"inproc", "shm", "tcp"}) {
    using Floats = std::vector<float>;
    const auto allreduce = [](size_t count) {
      return [count](Communicator& comm) {
        Floats x(count);
        return comm.allreduce(x);
      };
    };
    interrupt_rank_0(transport, allreduce(3));
    interrupt_rank_0(transport, allreduce(300'000));
    interrupt_rank_0(transport, [](auto& comm) { return comm.barrier(); });
    interrupt_rank_0(transport, [](auto& comm) {
      Floats x(3);
      return comm.recv(x, 1 - comm.rank());
    });
    interrupt_rank_0(transport,
                     [](auto& comm) { return comm.split(0).status(); });
    interrupt_rank_0(transport, [](auto& comm) {
      Floats x(3);
      const Work before = comm.allreduce_async(x);
      const Status status = comm.barrier();  // queued behind it
      EXPECT_TRUE(before.test());
      return status;
    });
  }
}

TEST(Communicator, BatchesAndOrderBetweenCollectives) {
  for (const char* transport : {"inproc", "tcp"})
    spawn_ranks(transport, 3, [&](Communicator& comm) {
      // Everyone sends to everyone, receives listed first.
      std::vector<int32_t> got(3, -1);
      std::vector<int32_t> mine{comm.rank()};
      std::vector<Transfer> transfers;
      for (int peer = 0; peer < 3; ++peer)
        if (peer != comm.rank())
          transfers.push_back(Transfer::recv(
              View(&got[static_cast<size_t>(peer)], 1, DType::kI32), peer));
      for (int peer = 0; peer < 3; ++peer)
        if (peer != comm.rank())
          transfers.push_back(Transfer::send(mine, peer));
      comm.batch(transfers).value();
      for (int peer = 0; peer < 3; ++peer)
        EXPECT_EQ(got[static_cast<size_t>(peer)],
                  peer == comm.rank() ? -1 : peer);
      // A queued operation and a blocking one keep their order.
      std::vector<float> a(100'000, 1.0f);
      std::vector<float> b(4, 2.0f);
      Work first = comm.allreduce_async(a);
      comm.allreduce(b).value();
      EXPECT_TRUE(first.test());
      EXPECT_EQ(a[0], 3);
      EXPECT_EQ(b[0], 6);
    });
}

TEST(Communicator, WorldsCanBeMadeAgainFromOneStore) {
  auto store = make_memory_store();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      for (int round = 0; round < 3; ++round) {
        auto comm = Communicator::connect(store, rank, 2).value();
        std::vector<float> x{1};
        comm.allreduce(x).value();
        EXPECT_EQ(x[0], 2);
      }
    });
  for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace rondo
