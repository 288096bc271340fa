// The bytes that really travel, against what the algorithms' pages derive.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "rondo/collectives/communicator.h"
#include "rondo/collectives/spawn_ranks.h"

namespace rondo {
namespace {

struct Moved {
  uint64_t sent = 0;
  uint64_t received = 0;
};

// What each of n ranks sent and received in one allreduce of `count` f32.
std::vector<Moved> measure(const std::string& transport, int n,
                           std::string_view algorithm, int64_t count) {
  std::vector<Moved> moved(static_cast<size_t>(n));
  spawn_ranks(transport, n, [&](Communicator& comm) {
    std::vector<float> x(static_cast<size_t>(count), 1.0f);
    const Traffic before = comm.traffic();
    ASSERT_TRUE(comm.allreduce(x, {.algorithm = algorithm}).ok());
    const Traffic after = comm.traffic();
    ASSERT_EQ(x.front(), static_cast<float>(n));
    ASSERT_EQ(x.back(), static_cast<float>(n));
    moved[static_cast<size_t>(comm.rank())] = {
        after.bytes_sent - before.bytes_sent,
        after.bytes_received - before.bytes_received};
  });
  return moved;
}

// Over tcp every byte goes through sockets; in the rings of shared memory the
// same messages travel.
class Traffics
    : public testing::TestWithParam<std::tuple<std::string, int64_t>> {};

// Document 000: each rank sends 2(N-1)K/N, whatever N is.
TEST_P(Traffics, RingSendsTwiceTheVectorButForAChunk) {
  const auto& [transport, count] = GetParam();
  const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(float);
  for (int n : {2, 4}) {
    for (const Moved& rank : measure(transport, n, "ring", count)) {
      EXPECT_EQ(rank.sent, 2 * (n - 1) * bytes / n);
      EXPECT_EQ(rank.received, 2 * (n - 1) * bytes / n);
    }
  }
}

// Document 002: 2N(P-1) go through the driver; every other rank sends its
// vector and gets the sum.
TEST_P(Traffics, StarGoesThroughTheDriver) {
  const auto& [transport, count] = GetParam();
  const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(float);
  const auto moved = measure(transport, 4, "star", count);
  EXPECT_EQ(moved[0].sent + moved[0].received, 2 * bytes * 3);
  for (size_t rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(moved[rank].sent, bytes);
    EXPECT_EQ(moved[rank].received, bytes);
  }
}

TEST_P(Traffics, NaiveSendsTheVectorToEveryone) {
  const auto& [transport, count] = GetParam();
  const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(float);
  for (const Moved& rank : measure(transport, 4, "naive", count)) {
    EXPECT_EQ(rank.sent, 3 * bytes);
    EXPECT_EQ(rank.received, 3 * bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, Traffics,
                         testing::Combine(testing::Values("tcp", "inproc"),
                                          testing::Values<int64_t>(64,
                                                                   1 << 20)),
                         [](const auto& vector) {
                           return std::get<0>(vector.param) + "_" +
                                  std::to_string(std::get<1>(vector.param));
                         });

// By halving and doubling, which is for long vectors.
TEST(Traffic, ButterflySendsAsMuchAsTheRing) {
  constexpr uint64_t kBytes = (1 << 20) * sizeof(float);
  for (const Moved& rank : measure("tcp", 4, "butterfly", 1 << 20))
    EXPECT_EQ(rank.sent, 2 * 3 * kBytes / 4);
}

// What the ring and the star send is a theorem about vectors of any length: the
// sum over all ranks does not depend on how the chunks come out.
TEST(Traffic, AnyLengthInTotal) {
  constexpr int64_t kCount = 100'003;
  constexpr uint64_t kBytes = kCount * sizeof(float);
  for (std::string_view algorithm : {"ring", "star"}) {
    uint64_t sent = 0;
    uint64_t received = 0;
    for (const Moved& rank : measure("tcp", 4, algorithm, kCount)) {
      sent += rank.sent;
      received += rank.received;
    }
    EXPECT_EQ(sent, 2 * 3 * kBytes) << algorithm;
    EXPECT_EQ(received, sent) << algorithm;
  }
}

}  // namespace
}  // namespace rondo
