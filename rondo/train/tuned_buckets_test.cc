// Buckets whose sizes are tuned while training, ranks as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/kernels/bucket_tuner.h"
#include "rondo/ps/test_cluster.h"
#include "rondo/train/strategy.h"
#include "rondo/train/test_model.h"

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kLayers = 22;
constexpr double kLayer = kWidth * kWidth * sizeof(float);
// With four sizes.
constexpr int kUntilSettled =
    static_cast<int>(BucketTuner::kWarmUp + 4 * BucketTuner::kRounds + 1);
constexpr int kAll = kUntilSettled + 3;  // steps

// Many layers side by side, each with a gradient that counts.
struct Wide {
  explicit Wide(int rank) {
    x = placeholder(graph, {.shape = {kAny, kWidth}, .name = "x"});
    for (int i = 0; i < kLayers; ++i) {
      const Tensor initial = numbers({kWidth, kWidth}, 10 * rank + i);
      const Value w = variable(graph, constant(graph, initial),
                               {.name = fmt::format("w{}", i)});
      const Value y = reduce_mean(make("Square", {matmul(x, w)}));
      loss = loss ? loss + y : y;
    }
  }
  Graph graph;
  Value x;
  Value loss;
};

// Of step `step`, part `part` of `parts`.
Tensor rows(int step, int part, int parts) {
  const Tensor all = numbers({kBatch, kWidth}, 1000 + step);
  const int64_t count = kBatch / parts;
  Tensor mine = Tensor::empty({count, kWidth});
  const auto from = all.span<float>().subspan(
      static_cast<size_t>(part * count * kWidth), mine.span<float>().size());
  std::ranges::copy(from, mine.span<float>().begin());
  return mine;
}

// One unit for each layer; a bucket has four of them usually.
RingOptions tuned(const Communicator& comm) {
  return {.group = fmt::format("tuned{}", comm.rank()),
          .buckets = {.first_bytes = kLayer, .bytes = 4 * kLayer, .tune = true},
          .factors = {.use = FactorUse::kOff}};
}

// Each time but the first by gradients that are computed when the updates of
// the time before have been made.
Node& minimized(Optimizer& optimizer, Wide& model, int times) {
  Node* last = &optimizer.minimize(model.loss);
  for (int i = 1; i < times; ++i) {
    const ControlScope after(model.graph, {last});
    last = &optimizer.minimize(model.loss);
  }
  return *last;
}

struct Rank {
  Rank(int rank, Strategy its, int times = 1)
      : strategy(std::move(its)),
        model(rank),
        together(strategy.distribute(optimizer)),
        train(minimized(together, model, times)),
        session(model.graph, {.intra_op_threads = 1}) {
    session.run(strategy.initializer(model.graph)).value();
  }
  Result<float> step(const Tensor& batch) {
    RONDO_ASSIGN_OR_RETURN(
        const auto out, session.run({model.loss}, {{model.x, batch}}, {&train},
                                    {.timeout = seconds(60)}));
    return out[0].span<float>()[0];
  }
  Momentum optimizer{{.learning_rate = 0.02}};
  Strategy strategy;
  Wide model;
  DistributedOptimizer together;
  Node& train;
  Session session;
};

// The loss of each step of one process.
std::vector<float> alone(int times) {
  Rank rank(0, Strategy::single(), times);
  std::vector<float> losses;
  for (int step = 0; step < kAll; ++step)
    losses.push_back(rank.step(rows(step, 0, 1)).value());
  return losses;
}

// Each rank has its losses, which in the mean are those of one process.
void expect_mean(const std::vector<std::vector<float>>& of_ranks, double within,
                 int times = 1) {
  const std::vector<float> expected = alone(times);
  for (size_t step = 0; step < expected.size(); ++step) {
    float mean = 0;
    for (const auto& losses : of_ranks)
      mean += losses[step] / static_cast<float>(of_ranks.size());
    EXPECT_NEAR(mean, expected[step], within * expected[step]) << step;
  }
}

std::vector<float> all_steps(Rank& rank, int of, int ranks) {
  std::vector<float> losses;
  for (int step = 0; step < kAll; ++step)
    losses.push_back(rank.step(rows(step, of, ranks)).value());
  EXPECT_TRUE(rank.strategy.check_replicas(rank.session).ok());
  return losses;
}

struct Outcome {
  std::vector<float> losses;
  std::vector<uint64_t> messages;  // of each step
  std::vector<BucketChoice> choices;
};

TEST(TunedBuckets, ChangeInTheSameStepOnAllRanksAndTrainAsOneProcess) {
  constexpr int kRanks = 4;
  std::vector<Outcome> outcomes(kRanks);
  spawn_ranks("tcp", kRanks, [&](Communicator& comm) {
    Rank rank(comm.rank(), Strategy::ring(comm, tuned(comm)).value());
    Outcome& own = outcomes[static_cast<size_t>(comm.rank())];
    EXPECT_THAT(rank.strategy.bucket_choices(), IsEmpty());
    for (int step = 0; step < kAll; ++step) {
      const uint64_t before = comm.traffic().messages_sent;
      own.losses.push_back(rank.step(rows(step, comm.rank(), kRanks)).value());
      own.messages.push_back(comm.traffic().messages_sent - before);
      EXPECT_EQ(rank.strategy.bucket_choices()[0].settled,
                step + 1 >= kUntilSettled);
    }
    EXPECT_TRUE(rank.strategy.check_replicas(rank.session).ok());
    EXPECT_THAT(rank.strategy.explain(), HasSubstr("buckets of up to "));
    own.choices = rank.strategy.bucket_choices();
  });
  std::vector<std::vector<float>> losses;
  for (const Outcome& own : outcomes) {
    losses.push_back(own.losses);
    ASSERT_THAT(own.choices, SizeIs(1));
    const BucketChoice& choice = own.choices[0];
    ASSERT_THAT(choice.sizes, SizeIs(4));
    EXPECT_EQ(choice.chosen, outcomes[0].choices[0].chosen);
    for (size_t i = 0; i < 4; ++i)
      EXPECT_EQ(choice.sizes[i].seconds,
                outcomes[0].choices[0].sizes[i].seconds);
    // More buckets are more messages; the sizes are 4, 1, 16 and 64 layers.
    const auto* tried = &own.messages[BucketTuner::kWarmUp];
    EXPECT_GT(tried[1], tried[0]);
    EXPECT_GT(tried[0], tried[2]);
    EXPECT_GT(tried[2], tried[3]);
    EXPECT_EQ(own.messages.back(), tried[choice.chosen]);
  }
  expect_mean(losses, 1e-5);
}

TEST(TunedBuckets, TrainAsOneProcessInSharedMemoryAndInBf16) {
  for (const DType wire : {DType::kF32, DType::kBF16}) {
    std::vector<std::vector<float>> losses(2);
    spawn_ranks("shm", 2, [&](Communicator& comm) {
      RingOptions options = tuned(comm);
      options.wire = wire;
      Rank rank(comm.rank(), Strategy::ring(comm, options).value());
      losses[static_cast<size_t>(comm.rank())] =
          all_steps(rank, comm.rank(), 2);
      EXPECT_TRUE(rank.strategy.bucket_choices()[0].settled);
    });
    expect_mean(losses, wire == DType::kF32 ? 1e-5 : 1e-2);
  }
}

// In one bucket with a unit that it needs, a unit would wait for itself.
TEST(TunedBuckets, OfUpdatesThatNeedOthersTrainAsOneProcess) {
  std::vector<std::vector<float>> losses(2);
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Rank rank(comm.rank(), Strategy::ring(comm, tuned(comm)).value(), 2);
    losses[static_cast<size_t>(comm.rank())] = all_steps(rank, comm.rank(), 2);
    EXPECT_TRUE(rank.strategy.bucket_choices()[0].settled);
  });
  expect_mean(losses, 1e-5, 2);
}

TEST(TunedBuckets, OfHybridTrainAsOneProcess) {
  const TestCluster cluster(with_rules({.workers = 2}), 1);
  std::vector<std::vector<float>> losses(2);
  spawn_ranks("tcp", 2, [&](Communicator& comm) {
    Rank rank(comm.rank(),
              Strategy::hybrid(comm, cluster.worker(comm.rank()),
                               {.ring = tuned(comm), .server_share = 0.5})
                  .value());
    losses[static_cast<size_t>(comm.rank())] = all_steps(rank, comm.rank(), 2);
    EXPECT_TRUE(rank.strategy.bucket_choices()[0].settled);
  });
  expect_mean(losses, 1e-5);
}

// Each step is of two runs, only the second of which has exchanges.
TEST(TunedBuckets, CountTheStepsOfMicroBatches) {
  std::vector<std::vector<float>> losses(2);
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    RingOptions options = tuned(comm);
    options.accumulate = 2;
    Rank rank(comm.rank(), Strategy::ring(comm, options).value());
    const auto run = [&](const Tensor& batch) {
      rank.session.run(rank.train, {{rank.model.x, batch}}).value();
    };
    for (int step = 0; step < kAll; ++step) {
      const Tensor whole = rows(step, comm.rank(), 2);
      losses[static_cast<size_t>(comm.rank())].push_back(
          rank.session.run(rank.model.loss, {{rank.model.x, whole}})
              .value()
              .span<float>()[0]);
      run(rows(step, 2 * comm.rank(), 4));
      run(rows(step, 2 * comm.rank() + 1, 4));
      const auto choices = rank.strategy.bucket_choices();
      EXPECT_EQ(choices[0].settled, step + 1 >= kUntilSettled);
    }
  });
  expect_mean(losses, 1e-5);
}

TEST(TunedBuckets, GoOnWhereARankJoinsInWhileTheyAreTuned) {
  spawn_ranks("tcp", 3, [&](Communicator& comm) {
    RingOptions options = tuned(comm);
    options.join = true;
    Rank rank(comm.rank(), Strategy::ring(comm, options).value());
    const int mine = comm.rank() == 1 ? kUntilSettled / 2 : kAll;
    for (int step = 0; step < mine; ++step)
      rank.step(rows(step, comm.rank(), 4)).value();
    rank.strategy.join(rank.session).value();
    EXPECT_TRUE(rank.strategy.bucket_choices()[0].settled);
    EXPECT_TRUE(rank.strategy.check_replicas(rank.session).ok());
  });
}

TEST(TunedBuckets, ARankThatIsLostWhileTheyAreTunedIsNamed) {
  spawn_ranks("tcp", 3, [&](Communicator& comm) {
    Rank rank(comm.rank(), Strategy::ring(comm, tuned(comm)).value());
    const int mine = comm.rank() == 1 ? kUntilSettled / 2 : kAll;
    Status status;
    int done = 0;
    while (status.ok() && done < mine)
      if (status = rank.step(rows(done, 0, 1)).status(); status.ok()) ++done;
    if (comm.rank() == 1) return;
    EXPECT_EQ(done, kUntilSettled / 2);
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("rank 1"), HasSubstr("tuned")));
    EXPECT_FALSE(rank.strategy.bucket_choices()[0].settled);
  });
}

TEST(TunedBuckets, TheEnvironmentMayAskForThem) {
  const auto asks = [](const char* text) {
    return tunes_buckets(
        Env(std::map<std::string, std::string>{{"RONDO_TUNE_BUCKETS", text}}));
  };
  EXPECT_TRUE(asks("1").value());
  EXPECT_FALSE(asks("0").value());
  EXPECT_FALSE(
      tunes_buckets(Env(std::map<std::string, std::string>())).value());
  EXPECT_THAT(asks("some").status().message(), HasSubstr("RONDO_TUNE_BUCKETS"));
}

}  // namespace
}  // namespace rondo
