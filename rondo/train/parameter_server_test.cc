// Strategies with parameter servers, ranks as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/exchange.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/parameters.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/ps/test_cluster.h"
#include "rondo/train/server_update.h"
#include "rondo/train/strategy.h"
#include "rondo/train/test_model.h"

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Rank {
  Rank(Communicator& comm, const TestCluster& cluster, DType wire = DType::kF32)
      : strategy(Strategy::parameter_server(
                     comm, cluster.worker(comm.rank()),
                     {.group = fmt::format("ps{}", comm.rank()),
                      .mode = cluster.options.rules.mode,
                      .wire = wire})
                     .value()),
        model(comm.rank()) {}
  ~Rank() { strategy.close(); }
  std::vector<const Node*> pushes() const {
    return pushes_of(model.graph, fmt::format("ps{}", strategy.rank()));
  }
  // What each dense gradient is when it is sent.
  std::set<DType> sent_as() const {
    std::set<DType> types;
    for (const Node* push : pushes())
      if (push->op().name == "PushPull") types.insert(push->input(0).dtype());
    return types;
  }
  // Which rows of the table a step brings.
  Value changed_rows() {
    for (const Node* push : pushes())
      if (push->op().name == "PushPullRows")
        return model.graph.value(push->name() + ":1");
    return {};
  }
  Strategy strategy;
  Model model;
};

KvServerOptions served(int workers, KvMode mode = KvMode::kSync,
                       int64_t staleness = 0) {
  return with_rules({.mode = mode, .workers = workers, .staleness = staleness});
}

// Of each step, the mean over the ranks.
std::vector<float> mean_losses(int servers, int ranks,
                               const MakeOptimizer& make_optimizer,
                               DType wire = DType::kF32) {
  const TestCluster cluster(served(ranks), servers);
  std::vector<std::vector<float>> losses(static_cast<size_t>(ranks));
  spawn_ranks("shm", ranks, [&](Communicator& comm) {
    Rank rank(comm, cluster, wire);
    const auto optimizer = make_optimizer();
    auto together = rank.strategy.distribute(*optimizer);
    Node& train = together.minimize(rank.model.loss);
    EXPECT_THAT(rank.sent_as(), ElementsAre(wire));
    Session session(rank.model.graph, {.intra_op_threads = 1});
    session.run(rank.strategy.initializer(rank.model.graph)).value();
    losses[static_cast<size_t>(comm.rank())] =
        trained(session, rank.model, train, comm.rank(), ranks);
    EXPECT_TRUE(rank.strategy.check_replicas(session).ok());
  });
  std::vector<float> means(losses[0].size());
  for (const auto& one : losses)
    for (size_t step = 0; step < means.size(); ++step)
      means[step] += one[step] / static_cast<float>(ranks);
  return means;
}

void compare(int servers, int ranks, const MakeOptimizer& make_optimizer) {
  const std::vector<float> expected = alone(make_optimizer);
  const std::vector<float> means = mean_losses(servers, ranks, make_optimizer);
  for (size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(means[step], expected[step], 1e-6) << step;
}

TEST(ParameterServer, TrainsAsOneProcessOnTheWholeBatch) {
  const auto momentum =
      of<Momentum>(MomentumOptions{.learning_rate = 0.1, .nesterov = true});
  compare(1, 1, momentum);
  compare(2, 2, momentum);
  compare(3, 4, momentum);
}

TEST(ParameterServer, GradientsMayTravelInHalfTheBytes) {
  const auto momentum = of<Momentum>(MomentumOptions{.learning_rate = 0.1});
  const std::vector<float> expected = alone(momentum);
  const std::vector<float> losses = mean_losses(2, 2, momentum, DType::kBF16);
  float largest = 0;
  for (size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(losses[step], expected[step], 0.01F * expected[step]) << step;
    largest = std::max(largest, std::abs(losses[step] - expected[step]));
  }
  EXPECT_GT(largest, 1e-6F) << "they travelled as f32";
}

TEST(ParameterServer, HasTheOptimizersOfGraphs) {
  compare(1, 2, of<GradientDescent>(GradientDescentOptions{0.1}));
  compare(1, 2, of<Adagrad>(AdagradOptions{.learning_rate = 0.1}));
  compare(1, 2, of<RmsProp>(RmsPropOptions{.centered = true}));
  compare(2, 2, of<Adam>(AdamOptions{.learning_rate = 0.01}));
  compare(1, 2,
          of<AdamW>(AdamWOptions{.learning_rate = 0.01, .weight_decay = 0.1}));
}

// Rank 2 makes no step before the others have made all of theirs.
TEST(ParameterServer, StepsDoNotWaitForBackupWorkers) {
  const TestCluster cluster(with_rules({.workers = 3, .backup = 1}));
  spawn_ranks("shm", 3, [&](Communicator& comm) {
    Strategy strategy =
        Strategy::parameter_server(
            comm, cluster.worker(comm.rank()),
            {.group = fmt::format("ps{}", comm.rank()), .backup = 1})
            .value();
    EXPECT_FALSE(strategy.in_step());
    Graph graph;
    const Value w = variable(graph, zeros(graph, {2}), {.name = "w"});
    const Value x = placeholder(graph, {.shape = {2}});
    GradientDescent plain({.learning_rate = 1.0});
    auto together = strategy.distribute(plain);
    Node& train = together.minimize(reduce_sum(make("Mul", {w, x})));
    Session session(graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(graph)).value();
    const auto step = [&] {
      // The mean of ranks 0 and 1 is 2.
      const float mine = 1.0F + 2.0F * static_cast<float>(comm.rank());
      session.run(train, {{x, Tensor::full({2}, mine)}}).value();
      return session.run(w).value().span<float>()[0];
    };
    if (comm.rank() == 2) {
      comm.barrier().value();
      EXPECT_EQ(step(), -2.0F * kSteps);  // too late, but up to date
    } else {
      for (int i = 1; i <= kSteps; ++i) EXPECT_EQ(step(), -2.0F * i);
      comm.barrier().value();
    }
    strategy.close();
  });
}

// Rank 2 makes its steps when the others wait for it already.
TEST(ParameterServer, RanksThatWaitForEachOtherPauseBackupsFirst) {
  const TestCluster cluster(with_rules({.workers = 3, .backup = 1}));
  spawn_ranks("shm", 3, [&](Communicator& comm) {
    Strategy strategy =
        Strategy::parameter_server(
            comm, cluster.worker(comm.rank()),
            {.group = fmt::format("meet{}", comm.rank()), .backup = 1})
            .value();
    Graph graph;
    const Value w = variable(graph, zeros(graph, {2}), {.name = "w"});
    GradientDescent plain({.learning_rate = 1.0});
    auto together = strategy.distribute(plain);
    Node& train = together.minimize(reduce_sum(w));
    Session session(graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(graph)).value();
    for (int epoch = 0; epoch < 3; ++epoch) {
      if (comm.rank() == 2) comm.barrier().value();
      for (int i = 0; i < kSteps; ++i) session.run(train).value();
      if (comm.rank() != 2) comm.barrier().value();
      strategy.pause().value();
      comm.barrier().value();
      strategy.resume().value();
    }
    strategy.close();
  });
}

TEST(ParameterServer, SomebodyHasToCount) {
  const TestCluster cluster(served(2));
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    const auto said = [&](ParameterServerOptions options) {
      return Strategy::parameter_server(comm, cluster.worker(comm.rank()),
                                        options)
          .status()
          .message();
    };
    EXPECT_THAT(said({.backup = 2}), HasSubstr("2 backup workers: of 2 ranks"));
    EXPECT_THAT(said({.mode = KvMode::kAsync, .backup = 1}),
                HasSubstr("only the strategy ps has backup workers"));
  });
}

TEST(ParameterServer, RowsThatNobodyPushedDoNotTravelAgain) {
  const TestCluster cluster(served(2));
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Rank rank(comm, cluster);
    GradientDescent plain({.learning_rate = 0.1});
    auto together = rank.strategy.distribute(plain);
    Node& train = together.minimize(rank.model.loss);
    Session session(rank.model.graph, {.intra_op_threads = 1});
    session.run(rank.strategy.initializer(rank.model.graph)).value();
    const Value changed = rank.changed_rows();
    const auto step = [&](std::vector<int64_t> ids) {
      const auto count = static_cast<int64_t>(ids.size());
      const Tensor fed = Tensor::of<int64_t>({count}, ids);
      const auto out =
          session.run({changed}, {{rank.model.ids, fed}}, {&train}).value();
      const auto rows = out[0].span<int64_t>();
      return std::vector<int64_t>(rows.begin(), rows.end());
    };
    // Also the first time: everybody knows what they were set to.
    EXPECT_THAT(step({1}), ElementsAre(1));
    // Those of all ranks, each once.
    EXPECT_THAT(step({5, 2 + comm.rank(), 5}), ElementsAre(2, 3, 5));
    EXPECT_THAT(step({7}), ElementsAre(7));
  });
}

TEST(ParameterServer, RowsOfAStepThatFailedComeAgain) {
  const TestCluster cluster(served(1, KvMode::kAsync));
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    Rank rank(comm, cluster);
    Graph& graph = rank.model.graph;
    GradientDescent plain({.learning_rate = 0.1});
    auto together = rank.strategy.distribute(plain);
    Node& train = together.minimize(rank.model.loss);
    const Value changed = rank.changed_rows();
    // Fails when the rows have come.
    const Value none =
        gather(changed, constant(graph, Tensor::of<int64_t>({1}, {{1000}})));
    Session session(graph, {.intra_op_threads = 1});
    session.run(rank.strategy.initializer(graph)).value();
    const std::vector<Feed> fed = {
        {rank.model.ids, Tensor::of<int64_t>({1}, {{3}})}};
    const auto first = session.run({changed}, fed, {&train}).value();
    EXPECT_EQ(first[0].count(), 1);
    EXPECT_FALSE(session.run({none}, fed, {}).ok());
    const auto out = session.run({changed}, fed, {&train}).value();
    EXPECT_EQ(out[0].count(), 40);
  });
}

TEST(ParameterServer, WhatServersKeepComesBackAndIsSetAgain) {
  const TestCluster cluster(served(1), 2);
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    Rank rank(comm, cluster);
    Graph& graph = rank.model.graph;
    Adam adam({.learning_rate = 0.01});
    auto together = rank.strategy.distribute(adam);
    Node& train = together.minimize(rank.model.loss);
    Node& begin = rank.strategy.initializer(graph);
    Node& again = rank.strategy.broadcast(graph);
    Node& pull = rank.strategy.pull_slots(graph);
    const Value slot = adam.slot(graph.value("w0"), "v");
    Session session(graph, {.intra_op_threads = 1});
    session.run(begin).value();
    const std::vector<float> first = trained(session, rank.model, train, 0, 1);
    EXPECT_EQ(values(session.run(slot).value())[0], 0);
    session.run(pull).value();
    EXPECT_GT(values(session.run(slot).value())[0], 0);
    // As a checkpoint would have it: all variables of this rank, powers too.
    const std::vector<Value> variables = graph.collection(kVariables);
    const auto kept = session.run(variables, {}).value();
    const std::vector<float> second = trained(session, rank.model, train, 0, 1);
    std::vector<Value> restored;
    for (const Tensor& one : kept) restored.push_back(constant(graph, one));
    session.run(assign_all(variables, restored)).value();
    session.run(again).value();
    EXPECT_EQ(trained(session, rank.model, train, 0, 1), second);
    EXPECT_NE(first, second);
  });
}

TEST(ParameterServer, AStepThatFailsEndsThoseOfAllRanks) {
  const TestCluster cluster(served(2));
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Rank rank(comm, cluster);
    GradientDescent plain({.learning_rate = 0.1});
    auto together = rank.strategy.distribute(plain);
    Node& train = together.minimize(rank.model.loss);
    Session session(rank.model.graph, {.intra_op_threads = 1});
    session.run(rank.strategy.initializer(rank.model.graph)).value();
    const int64_t row = comm.rank() == 0 ? 1 : 1000;
    const auto status = session.run(
        train, {{rank.model.ids, Tensor::of<int64_t>({1}, {{row}})}});
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("1000"));
    if (comm.rank() == 0) {
      EXPECT_THAT(status.message(), HasSubstr("worker 1 "));
    }
  });
}

TEST(ParameterServer, AStepThatDidNotBeginEndsNothing) {
  const TestCluster cluster(served(1));
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    Rank rank(comm, cluster);
    GradientDescent plain({.learning_rate = 0.1});
    auto together = rank.strategy.distribute(plain);
    Node& train = together.minimize(rank.model.loss);
    Session session(rank.model.graph, {.intra_op_threads = 1});
    session.run(rank.strategy.initializer(rank.model.graph)).value();
    const std::vector<Feed> fed = {{rank.model.ids, share(0, 0, 1)}};
    Session wide(rank.model.graph, {.devices = {{"cpu", 2}}});
    EXPECT_THAT(wide.run(train, fed).message(),
                HasSubstr("need a session with one device"));
    session.run(train, fed).value();
  });
}

TEST(ParameterServer, ARankThatEndsEarlierLeavesTheOthers) {
  const TestCluster cluster(served(2, KvMode::kBounded));
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    // It is not closed, as in a program that just ends.
    const auto strategy =
        Strategy::parameter_server(comm, cluster.worker(comm.rank()),
                                   {.group = fmt::format("ps{}", comm.rank()),
                                    .mode = KvMode::kBounded})
            .value();
    Model model(comm.rank());
    GradientDescent plain({.learning_rate = 0.1});
    auto together = strategy.distribute(plain);
    Node& train = together.minimize(model.loss);
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(model.graph)).value();
    for (int step = 0; step < (comm.rank() == 0 ? 1 : kSteps); ++step)
      session.run(train, {{model.ids, share(step, comm.rank(), 2)}}).value();
  });
}

TEST(ParameterServer, AnotherGraphHasToTrainAVariableAlike) {
  const TestCluster cluster(served(1));
  spawn_ranks("shm", 1, [&](Communicator& comm) {
    Rank rank(comm, cluster);
    const auto begin = [&](Optimizer& optimizer) {
      Model model(0);
      auto together = rank.strategy.distribute(optimizer);
      together.minimize(model.loss);
      Session session(model.graph, {.intra_op_threads = 1});
      return session.run(rank.strategy.initializer(model.graph));
    };
    GradientDescent plain({.learning_rate = 0.1});
    GradientDescent slower({.learning_rate = 0.01});
    Adam adam({.learning_rate = 0.1});
    begin(plain).value();
    begin(slower).value();
    EXPECT_THAT(
        begin(adam).message(),
        AllOf(HasSubstr("\"table\" as f32[40, 6] by GradientDescent, in rows"),
              HasSubstr("by Adam epsilon")));
  });
}

TEST(ParameterServer, AsynchronousRanksDoNotWaitForEachOther) {
  const TestCluster cluster(served(2, KvMode::kAsync));
  float last = 0;
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Rank rank(comm, cluster);
    GradientDescent plain({.learning_rate = 0.1});
    auto together = rank.strategy.distribute(plain);
    Node& train = together.minimize(rank.model.loss);
    Session session(rank.model.graph, {.intra_op_threads = 1});
    session.run(rank.strategy.initializer(rank.model.graph)).value();
    EXPECT_EQ(rank.strategy.name(), "ps-async");
    const auto step = [&] {
      const auto out = session
                           .run({rank.model.loss},
                                {{rank.model.ids, share(0, 0, 1)}}, {&train})
                           .value();
      return out[0].span<float>()[0];
    };
    // Rank 1 makes no step before rank 0 has made all of its own, and goes on
    // from there.
    if (comm.rank() == 0)
      for (int i = 0; i < kSteps; ++i) last = step();
    comm.barrier().value();
    if (comm.rank() == 1) {
      step();
      EXPECT_LT(step(), last);
    }
  });
}

TEST(ParameterServer, AnOptimizerThatServersDoNotHave) {
  Graph graph;
  const Value w = variable(graph, zeros(graph, {2}), {.name = "w"});
  Node& odd = *assign_sub(w, constant(graph, numbers({2}, 1))).node;
  try {
    server_update(odd, "ps");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("they have GradientDescent, Momentum, "
                                    "Adagrad, RMSProp, Adam, AdamW"));
  }
}

TEST(ParameterServer, OnlyTheLearningRateMayBeComputed) {
  Graph graph;
  const Value w = variable(graph, zeros(graph, {2}), {.name = "w"});
  const Value rate = placeholder(graph, {.shape = {}});
  const Value gradient = constant(graph, numbers({2}, 1));
  const auto instead = [](Node& update) -> Node& {
    return server_update(update, "ps");
  };
  Momentum fed({.learning_rate = rate});
  fed.apply_instead({{gradient, w}}, {}, "", instead);
  EXPECT_EQ(pushes_of(graph, "ps").size(), 1u);
  Momentum odd({.momentum = rate});
  EXPECT_THAT(
      [&] {
        odd.apply_instead({{gradient, w}}, {}, "", instead);
      },
      testing::ThrowsMessage<Error>(HasSubstr("momentum of")));
  // Nor may the next one differ.
  GradientDescent other({.learning_rate = 0.1});
  EXPECT_THAT(
      [&] {
        other.apply_instead({{gradient, w}}, {}, "", instead);
      },
      testing::ThrowsMessage<Error>(HasSubstr("in two ways")));
}

TEST(ParameterServer, WithoutServersAJobIsTold) {
  const Env env(std::map<std::string, std::string>{{"RONDO_STRATEGY", "ssp"}});
  EXPECT_THAT(Strategy::from_env(env).status().message(),
              HasSubstr("--servers 1 --strategy ssp"));
}

}  // namespace
}  // namespace rondo
