// The strategy hybrid, ranks as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/ps/test_cluster.h"
#include "rondo/train/strategy.h"
#include "rondo/train/test_model.h"

namespace rondo {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

KvServerOptions for_ranks(int ranks) { return with_rules({.workers = ranks}); }

struct Rank {
  Rank(Communicator& comm, const TestCluster& cluster,
       HybridOptions options = {})
      : Rank(comm, cluster.worker_options(comm.rank()), std::move(options)) {}
  Rank(Communicator& comm, KvWorkerOptions servers, HybridOptions options = {})
      : strategy(Strategy::hybrid(comm,
                                  KvWorker::connect(std::move(servers)).value(),
                                  named(comm, std::move(options)))
                     .value()),
        model(comm.rank()),
        together(strategy.distribute(optimizer)),
        train(together.minimize(model.loss)),
        session(model.graph, {.intra_op_threads = 1}) {
    session.run(strategy.initializer(model.graph)).value();
  }
  // Ranks that are threads share a process, and so the names.
  static HybridOptions named(const Communicator& comm, HybridOptions options) {
    options.ring.group = fmt::format("hybrid{}", comm.rank());
    return options;
  }
  Status step(const Tensor& ids) {
    return session.run(train, {{model.ids, ids}});
  }
  Momentum optimizer{{.learning_rate = 0.1}};
  Strategy strategy;
  Model model;
  DistributedOptimizer together;
  Node& train;
  Session session;
};

void compare(int servers, int ranks, const HybridOptions& options,
             double within) {
  const std::vector<float> expected =
      alone(of<Momentum>(MomentumOptions{.learning_rate = 0.1}));
  const TestCluster cluster(for_ranks(ranks), servers);
  std::vector<std::vector<float>> losses(static_cast<size_t>(ranks));
  spawn_ranks("shm", ranks, [&](Communicator& comm) {
    Rank rank(comm, cluster, options);
    EXPECT_EQ(rank.strategy.name(), "hybrid");
    losses[static_cast<size_t>(comm.rank())] =
        trained(rank.session, rank.model, rank.train, comm.rank(), ranks);
    EXPECT_TRUE(rank.strategy.check_replicas(rank.session).ok());
  });
  for (size_t step = 0; step < expected.size(); ++step) {
    float mean = 0;
    for (const auto& one : losses)
      mean += one[step] / static_cast<float>(ranks);
    EXPECT_NEAR(mean, expected[step], within) << step;
  }
}

// So that servers get some of buckets as small as those here.
HybridOptions with_share(double share) {
  HybridOptions options;
  options.server_share = share;
  return options;
}

TEST(Hybrid, TrainsAsOneProcessOnTheWholeBatch) {
  compare(1, 2, with_share(0.5), 1e-6);
  compare(2, 4, with_share(0.6), 1e-6);
  // All that can go through servers, in a copy of both layers.
  compare(4, 4, with_share(1), 1e-6);
  // One bucket for each layer.
  HybridOptions small = with_share(1);
  small.ring.buckets = {.first_bytes = 1, .bytes = 1};
  compare(3, 2, small, 1e-6);
  // Left to itself, with buckets for which servers do not pay.
  compare(2, 4, {}, 1e-6);
}

TEST(Hybrid, TrainsSoInBf16) {
  HybridOptions options = with_share(0.5);
  options.ring.wire = DType::kBF16;
  compare(2, 2, options, 1e-3);
}

// What a step of one variable makes this rank send to other ranks.
uint64_t bytes_among_ranks(Communicator& comm, const TestCluster& cluster,
                           const HybridOptions& options) {
  constexpr int64_t kMany = 1 << 16;
  const Strategy strategy = Strategy::hybrid(comm, cluster.worker(comm.rank()),
                                             Rank::named(comm, options))
                                .value();
  Graph graph;
  const Value w = variable(graph, zeros(graph, {kMany}), {.name = "w"});
  const Value x = placeholder(graph, {.shape = {kMany}});
  GradientDescent plain({.learning_rate = 1.0});
  auto optimizer = strategy.distribute(plain);
  Node& train = optimizer.minimize(reduce_sum(make("Mul", {w, x})));
  Session session(graph, {.intra_op_threads = 1});
  session.run(strategy.initializer(graph)).value();
  const float mine = comm.rank() == 0 ? 1.0F : 2.0F;
  const uint64_t before = comm.traffic().bytes_sent;
  session.run(train, {{x, Tensor::full({kMany}, mine)}}).value();
  const uint64_t bytes = comm.traffic().bytes_sent - before;
  EXPECT_THAT(session.run(w).value().span<float>(), testing::Each(-1.5F));
  const double all = options.ring.wire == DType::kF32 ? 4 * kMany : 2 * kMany;
  EXPECT_EQ(strategy.explain(),
            fmt::format("w: bucket, {:.0f} bytes, {:.0f} of them to servers\n",
                        all, all * 0.75));
  return bytes;
}

TEST(Hybrid, AShareOfTheBytesGoesThroughServers) {
  constexpr double kMany = 1 << 16;
  for (const DType wire : {DType::kF32, DType::kBF16}) {
    const TestCluster cluster(for_ranks(2), 2);
    HybridOptions options;
    options.ring.wire = wire;
    options.server_share = 0.75;
    uint64_t sent = 0;
    spawn_ranks("tcp", 2, [&](Communicator& comm) {
      const uint64_t bytes = bytes_among_ranks(comm, cluster, options);
      if (comm.rank() == 0) sent = bytes;
    });
    EXPECT_NEAR(static_cast<double>(sent),
                0.25 * kMany * static_cast<double>(size_of(wire)), 2000);
  }
}

TEST(Hybrid, AServerThatIsLostIsNamedByAllRanks) {
  TestCluster cluster(for_ranks(2), 2);
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    KvWorkerOptions servers = cluster.worker_options(comm.rank());
    servers.server_patience = seconds(0.2);
    Rank rank(comm, std::move(servers), with_share(1));
    rank.step(share(0, comm.rank(), 2)).value();
    comm.barrier().value();
    if (comm.rank() == 0) {
      // A key as short as this one is on one of them as a whole.
      cluster.stop(0);
      cluster.stop(1);
    }
    comm.barrier().value();
    const Status status = rank.step(share(1, comm.rank(), 2));
    EXPECT_THAT(status.message(),
                AnyOf(HasSubstr("server 0"), HasSubstr("server 1")));
  });
}

TEST(Hybrid, AStepThatFailsEndsThoseOfAllRanks) {
  const TestCluster cluster(for_ranks(3), 3);
  spawn_ranks("shm", 3, [&](Communicator& comm) {
    Rank rank(comm, cluster, with_share(1));
    const int64_t row = comm.rank() == 1 ? 1000 : 1;
    const Status status = rank.step(Tensor::of<int64_t>({1}, {{row}}));
    EXPECT_THAT(status.message(), HasSubstr("1000"));
    if (comm.rank() != 1) {
      EXPECT_THAT(status.message(), HasSubstr("aborted by rank 1"));
    }
  });
}

// Servers would make a mean of those that are left.
TEST(Hybrid, ARankThatLeavesIsNamed) {
  const TestCluster cluster(for_ranks(2), 2);
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Rank rank(comm, cluster, with_share(0.5));
    rank.step(share(0, comm.rank(), 2)).value();
    if (comm.rank() == 1) return rank.strategy.close();
    EXPECT_THAT(rank.step(share(1, 0, 2)).message(), HasSubstr("rank 1"));
  });
}

TEST(Hybrid, WithoutServersItIsTheRing) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    const Strategy strategy =
        Strategy::hybrid(comm, nullptr, Rank::named(comm, {})).value();
    EXPECT_EQ(strategy.name(), "hybrid");
    EXPECT_FALSE(strategy.has_servers());
    Model model(comm.rank());
    GradientDescent plain({.learning_rate = 0.1});
    auto optimizer = strategy.distribute(plain);
    optimizer.minimize(model.loss);
    EXPECT_THAT(strategy.explain(), HasSubstr("w1: bucket, 144 bytes\n"));
  });
}

TEST(Hybrid, AShareIsAtMostAll) {
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    HybridOptions options;
    options.server_share = 1.5;
    EXPECT_THAT(Strategy::hybrid(comm, nullptr, options).status().message(),
                HasSubstr("the servers' share is 1.5, expected from 0 to 1"));
  });
}

}  // namespace
}  // namespace rondo
