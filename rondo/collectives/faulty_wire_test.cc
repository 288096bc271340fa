// The collectives over sockets that have bad luck: bytes come in pieces of any
// size, connections stall, end and are reset in the middle of anything.
#include "rondo/collectives/faulty_wire.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "rondo/collectives/algorithms.h"
#include "rondo/collectives/communicator.h"
#include "rondo/collectives/spawn_ranks.h"

namespace rondo {
namespace {

using testing::ContainsRegex;

std::vector<std::string> message_algorithms() {
  std::vector<std::string> names;
  for (const AlgorithmEntry& entry : allreduce_algorithms())
    if (entry.id != Algorithm::kDirect && entry.id != Algorithm::kHierarchical)
      names.emplace_back(entry.name);
  return names;
}

// Sums over up to four ranks fit into every type.
template <class T>
T value(int rank, int64_t i) {
  return static_cast<T>((rank + 1) * (i % 7));
}

template <class T>
std::vector<T> values(int rank, int64_t count, int64_t from = 0) {
  std::vector<T> x(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    x[static_cast<size_t>(i)] = value<T>(rank, from + i);
  return x;
}

template <class T>
std::vector<T> sums(int n, int64_t count, int64_t from = 0) {
  std::vector<T> x(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    for (int r = 0; r < n; ++r)
      x[static_cast<size_t>(i)] =
          static_cast<T>(x[static_cast<size_t>(i)] + value<T>(r, from + i));
  return x;
}

// Of two vectors that differ, where they do: they may be long.
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& want,
                 const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], want[i]) << what << ", element " << i;
}

template <class T>
void allreduce_by_all(Communicator& comm, int64_t count) {
  for (const std::string& algorithm : message_algorithms()) {
    SCOPED_TRACE(
        fmt::format("{} {} of {}", algorithm, count, name_of(dtype_of<T>)));
    auto x = values<T>(comm.rank(), count);
    const Status status = comm.allreduce(x, {.algorithm = algorithm});
    ASSERT_TRUE(status.ok()) << status.to_string();
    expect_same(x, sums<T>(comm.size(), count), "allreduce");
  }
}

template <class T>
void others(Communicator& comm, int64_t count) {
  SCOPED_TRACE(fmt::format("{} of {}", count, name_of(dtype_of<T>)));
  const int n = comm.size();
  const int rank = comm.rank();
  const int root = n - 1;
  const auto mine = values<T>(rank, count);
  std::vector<T> out(static_cast<size_t>(count));
  std::vector<T> all;
  for (int r = 0; r < n; ++r) {
    const auto part = values<T>(r, count);
    all.insert(all.end(), part.begin(), part.end());
  }

  comm.reduce(mine, out, {.root = root}).value();
  if (rank == root) expect_same(out, sums<T>(n, count), "reduce");
  out = mine;
  comm.broadcast(out, {.root = root}).value();
  expect_same(out, values<T>(root, count), "broadcast");
  std::vector<T> gathered(all.size());
  comm.allgather(mine, gathered).value();
  expect_same(gathered, all, "allgather");
  comm.gather(mine, gathered, {.root = root}).value();
  if (rank == root) expect_same(gathered, all, "gather");
  comm.scatter(all, out, {.root = root}).value();
  expect_same(out, mine, "scatter");
  comm.reduce_scatter(values<T>(rank, count * n), out).value();
  expect_same(out, sums<T>(n, count, rank * count), "reduce_scatter");
  std::vector<T> exchanged(all.size());
  comm.all_to_all(values<T>(rank, count * n), exchanged).value();
  for (int r = 0; r < n; ++r) {
    const auto part = values<T>(r, count, rank * count);
    expect_same(
        {exchanged.begin() + r * count, exchanged.begin() + (r + 1) * count},
        part, "all_to_all");
  }
  comm.sendrecv(mine, (rank + 1) % n, out, (rank + n - 1) % n).value();
  expect_same(out, values<T>((rank + n - 1) % n, count), "sendrecv");
  comm.barrier().value();
}

// Bytes per call, in turn. 64 is a header, so these cut headers, elements and
// both at once at every place.
class Pieces : public testing::TestWithParam<std::vector<size_t>> {};

TEST_P(Pieces, GiveTheSameNumbers) {
  const bool tiny = *std::max_element(GetParam().begin(), GetParam().end()) < 9;
  const std::vector<int64_t> counts =
      tiny ? std::vector<int64_t>{0, 1, 40}
           : std::vector<int64_t>{0, 1, 40, 5'003, 150'001};
  for (int n : {2, 3})
    spawn_ranks("tcp", n, [&](Communicator& comm) {
      const FaultyWire wire({.pieces = GetParam()});
      for (int64_t count : counts) {
        allreduce_by_all<uint8_t>(comm, count);
        allreduce_by_all<int16_t>(comm, count);
        allreduce_by_all<float>(comm, count);
        allreduce_by_all<double>(comm, count);
        others<uint8_t>(comm, count);
        others<int16_t>(comm, count);
        others<float>(comm, count);
        others<double>(comm, count);
        if (testing::Test::HasFatalFailure()) return;
      }
    });
}

INSTANTIATE_TEST_SUITE_P(
    FaultyWire, Pieces,
    testing::Values(std::vector<size_t>{1}, std::vector<size_t>{3, 1, 7},
                    std::vector<size_t>{63, 2, 1'021},
                    std::vector<size_t>{65, 4'099, 70'001, 13}),
    [](const auto& suite) {
      return fmt::format("{}", fmt::join(suite.param, "_"));
    });

// A barrier's messages are headers; these take longer than the time-out, but
// there is progress all the while.
TEST(SlowWire, IsNotTakenForAStall) {
  CommunicatorOptions options;
  options.timeout = 1;
  spawn_ranks(
      "tcp", 2,
      [](Communicator& comm) {
        std::optional<FaultyWire> wire;
        if (comm.rank() == 1)
          wire.emplace(
              Faults{.pieces = {1}, .pace = std::chrono::milliseconds(20)});
        const Status status = comm.barrier();
        EXPECT_TRUE(status.ok()) << status.to_string();
      },
      options);
}

struct Ending {
  Status status;
  Duration took{};
};

// What three ranks get that reduce until it fails, when rank 1 has bad luck.
std::vector<Ending> reduce_until_it_fails(const std::string& algorithm,
                                          int64_t count, const Faults& faults,
                                          double timeout) {
  std::vector<Ending> endings(3);
  CommunicatorOptions options;
  options.timeout = timeout;
  spawn_ranks(
      "tcp", 3,
      [&](Communicator& comm) {
        std::optional<FaultyWire> wire;
        if (comm.rank() == 1) wire.emplace(faults);
        Ending& end = endings[static_cast<size_t>(comm.rank())];
        for (int round = 0; round < 20 && end.status.ok(); ++round) {
          auto x = values<float>(comm.rank(), count);
          const auto start = Clock::now();
          end.status = comm.allreduce(x, {.algorithm = algorithm});
          end.took = Clock::now() - start;
          if (end.status.ok())
            expect_same(x, sums<float>(comm.size(), count), "a good result");
        }
        EXPECT_TRUE(comm.rank() != 1 || wire->struck());
      },
      options);
  return endings;
}

class Luck : public testing::TestWithParam<std::string> {
 protected:
  // Checks that all ranks fail in time with `code`. The failure is the same on
  // all: one rank's, about a peer of which it did not get what it waited for.
  static void expect_failure(int64_t count, const Faults& faults,
                             double timeout, Code code, double within) {
    // A busy machine may be late, but not each time.
    Duration took = Duration::max();
    for (int turn = 0; turn < 3 && to_seconds(took) >= within; ++turn) {
      took = {};
      const auto endings =
          reduce_until_it_fails(GetParam(), count, faults, timeout);
      for (size_t rank = 0; rank < endings.size(); ++rank) {
        const Ending& end = endings[rank];
        took = std::max(took, end.took);
        EXPECT_EQ(end.status.code(), code)
            << "rank " << rank << ": " << end.status.to_string();
        EXPECT_THAT(end.status.message(),
                    ContainsRegex("failed on rank (1: .*rank [02] [(]|[02]: "
                                  ".*rank 1 [(])"));
      }
    }
    EXPECT_LT(to_seconds(took), within);
  }
};

// Before, within and behind a header, in a short and in a long vector.
constexpr std::tuple<int64_t, int64_t> kPlaces[] = {{40, 0},
                                                    {40, 1},
                                                    {40, 64},
                                                    {40, 1'000},
                                                    {5'003, 9'001},
                                                    {150'001, 64'001},
                                                    {150'001, 1'300'001}};

TEST_P(Luck, ADroppedConnectionFailsAllAndIsNamed) {
  for (const auto& [count, after] : kPlaces) {
    SCOPED_TRACE(fmt::format("{} elements, after {} bytes", count, after));
    expect_failure(count, {.then = Faults::Then::kDrop, .after = after}, 20,
                   Code::kPeerLost, 3);
  }
}

TEST_P(Luck, AResetConnectionFailsAllAndIsNamed) {
  for (const auto& [count, after] : kPlaces) {
    SCOPED_TRACE(fmt::format("{} elements, after {} bytes", count, after));
    expect_failure(count, {.then = Faults::Then::kReset, .after = after}, 20,
                   Code::kPeerLost, 3);
  }
}

TEST_P(Luck, AStalledConnectionTimesOutAndIsNamed) {
  constexpr double kTimeout = 1;
  for (const auto& [count, after] : {kPlaces[1], kPlaces[3], kPlaces[5]}) {
    SCOPED_TRACE(fmt::format("{} elements, after {} bytes", count, after));
    expect_failure(count, {.then = Faults::Then::kStall, .after = after},
                   kTimeout, Code::kTimeout, kTimeout + 1);
  }
}

TEST_P(Luck, ADelayOnlyDelays) {
  spawn_ranks("tcp", 3, [&](Communicator& comm) {
    std::optional<FaultyWire> wire;
    if (comm.rank() == 1)
      wire.emplace(Faults{.then = Faults::Then::kStall,
                          .after = 9'001,
                          .stall = std::chrono::milliseconds(300)});
    auto x = values<float>(comm.rank(), 5'003);
    const Status status = comm.allreduce(x, {.algorithm = GetParam()});
    ASSERT_TRUE(status.ok()) << status.to_string();
    expect_same(x, sums<float>(comm.size(), 5'003), "allreduce");
    EXPECT_TRUE(comm.rank() != 1 || wire->struck());
  });
}

INSTANTIATE_TEST_SUITE_P(FaultyWire, Luck,
                         testing::ValuesIn(message_algorithms()),
                         [](const auto& suite) { return suite.param; });

}  // namespace
}  // namespace rondo
