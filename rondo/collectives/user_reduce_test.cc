// Operators of the caller's that fail: nobody may return a wrong number, and
// everybody has to learn whose operator it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <tuple>

#include "rondo/collectives/spawn_ranks.h"

namespace rondo {
namespace {

using testing::HasSubstr;

constexpr int kRanks = 4;

// Adds; on rank `who`, the call number `when` (from 0) spoils and then fails.
struct Fails {
  int who;
  int when;
  std::atomic<bool> happened{false};

  UserReduce on(int rank) {
    return [this, rank, calls = 0](void* inout, const void* in, int64_t count,
                                   DType) mutable -> Status {
      double* acc = static_cast<double*>(inout);
      const double* other = static_cast<const double*>(in);
      const bool fail = rank == who && calls++ == when;
      for (int64_t i = 0; i < count; ++i)
        acc[i] = fail ? -1e9 : acc[i] + other[i];
      if (!fail) return {};
      happened = true;
      return error(Code::kResource, "no more ink");
    };
  }
};

class FailingOperator
    : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(FailingOperator, NobodyReturnsAWrongNumber) {
  const auto transport = std::get<0>(GetParam());
  const auto algorithm = std::get<1>(GetParam());
  int happened = 0;
  for (int64_t count : {3, 3'000, 300'000})
    for (int who : {0, kRanks - 1})
      for (int when : {0, 2}) {
        Fails op{who, when};
        spawn_ranks(transport, kRanks, [&](Communicator& comm) {
          std::vector<double> x(static_cast<size_t>(count), comm.rank() + 1.0);
          const CallOptions options{.op = ReduceOp::kUser,
                                    .user = op.on(comm.rank()),
                                    .algorithm = algorithm};
          const Status status = comm.allreduce(x, options);
          if (status.ok()) {
            for (double v : x) ASSERT_EQ(v, 10.0);
          }
          // Whoever has its result learns it from the next call.
          const Status next = comm.barrier();
          if (!op.happened) {
            EXPECT_TRUE(status.ok() && next.ok()) << next.to_string();
            return;
          }
          EXPECT_TRUE(!status.ok() || comm.rank() != who);
          EXPECT_TRUE(status.ok() || status.message() == next.message());
          EXPECT_EQ(next.code(), Code::kResource) << next.to_string();
          EXPECT_THAT(next.message(), HasSubstr(fmt::format(
                                          "operator failed on rank {}", who)));
          EXPECT_THAT(next.message(), HasSubstr("no more ink"));
        });
        happened += op.happened ? 1 : 0;
      }
  EXPECT_GT(happened, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Threads, FailingOperator,
    testing::Values(std::tuple("inproc", "direct"), std::tuple("shm", "direct"),
                    std::tuple("shm", "ring"), std::tuple("shm", "tree"),
                    std::tuple("tcp", "naive"), std::tuple("tcp", "star"),
                    std::tuple("tcp", "tree"), std::tuple("tcp", "butterfly"),
                    std::tuple("tcp", "ring")),
    [](const auto& parameter) {
      return std::get<0>(parameter.param) + "_" + std::get<1>(parameter.param);
    });

TEST(UserReduce, OtherCollectives) {
  for (const std::string transport : {"shm", "tcp"})
    for (int64_t count : {40, 400'000})
      for (bool scatter : {false, true}) {
        Fails op{0, 0};
        spawn_ranks(transport, kRanks, [&](Communicator& comm) {
          std::vector<double> x(static_cast<size_t>(count), 1.0);
          std::vector<double> y(x.size() / (scatter ? kRanks : 1));
          const CallOptions options{.op = ReduceOp::kUser,
                                    .user = op.on(comm.rank())};
          const Status status = scatter ? comm.reduce_scatter(x, y, options)
                                        : comm.reduce(x, y, options);
          const bool has = scatter || comm.rank() == 0;
          if (status.ok() && has) {
            for (double v : y) ASSERT_EQ(v, kRanks);
          }
          EXPECT_TRUE(comm.rank() != 0 || !status.ok());
          EXPECT_THAT(comm.barrier().message(),
                      HasSubstr("operator failed on rank 0"));
        });
        EXPECT_TRUE(op.happened);
      }
}

// Each on a group of its own, where only rank 1's operator fails.
template <class F>
Status thrown(F f) {
  Status seen;
  spawn_ranks("inproc", 2, [&](Communicator& comm) {
    std::vector<double> x(5);
    const bool fails = comm.rank() == 1;
    const CallOptions options{.op = ReduceOp::kUser,
                              .user = [&](void*, const void*, int64_t, DType) {
                                if (fails) f();
                              }};
    Status status = comm.allreduce_async(std::span(x), options).wait();
    if (fails) seen = status;
    EXPECT_THAT(comm.barrier().message(), HasSubstr("failed on rank 1"));
  });
  return seen;
}

TEST(UserReduce, WhatItThrowsIsItsFailure) {
  const Status own = thrown([] { throw Error(Code::kTimeout, "too slow"); });
  EXPECT_EQ(own.code(), Code::kTimeout);
  EXPECT_THAT(own.message(), HasSubstr("too slow"));
  const Status other = thrown([] { throw std::runtime_error("broken"); });
  EXPECT_EQ(other.code(), Code::kCancelled);
  EXPECT_THAT(other.message(), HasSubstr("broken"));
  EXPECT_EQ(thrown([] { throw 7; }).code(), Code::kCancelled);
}

}  // namespace
}  // namespace rondo
