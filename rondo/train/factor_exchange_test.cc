// Training over ranks whose gradients travel as factors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/train/strategy.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kInputs = 24;
constexpr int64_t kUnits = 40;
constexpr int64_t kBatch = 8;

Tensor numbers(const Shape& shape, int seed) {
  Tensor t = Tensor::empty(shape);
  for (int64_t i = 0; i < t.count(); ++i)
    t.span<float>()[static_cast<size_t>(i)] =
        static_cast<float>((i * 37 + seed * 101) % 19 - 9) / 20.0F;
  return t;
}

// A perceptron with biases; the batch is not known to the graph.
struct Perceptron {
  Perceptron() {
    x = placeholder(graph, {.shape = {kAny, kInputs}, .name = "x"});
    int64_t inputs = kInputs;
    Value h = x;
    for (int i = 0; i < 3; ++i) {
      const Value w =
          variable(graph, constant(graph, numbers({inputs, kUnits}, i)),
                   {.name = fmt::format("w{}", i)});
      const Value b = variable(graph, zeros(graph, {kUnits}),
                               {.name = fmt::format("b{}", i)});
      h = make("Tanh", {matmul(h, w) + b});
      inputs = kUnits;
    }
    loss = reduce_mean(make("Square", {h}));
  }
  Graph graph;
  Value x;
  Value loss;
};

// Rank `rank`'s rows of the batch of a step.
Tensor rows_of(int step, int rank, int ranks) {
  const Tensor whole = numbers({kBatch, kInputs}, 1000 + step);
  Tensor part = Tensor::empty({kBatch / ranks, kInputs});
  std::memcpy(part.data(),
              static_cast<const char*>(whole.data()) +
                  static_cast<size_t>(rank) * part.bytes(),
              part.bytes());
  return part;
}

struct Trained {
  std::vector<Tensor> variables;
  uint64_t bytes_sent = 0;  // in all steps
  std::string explained;
};

// What one rank has after five steps.
Trained train(Communicator& comm, RingOptions options) {
  options.group = fmt::format("ring{}", comm.rank());  // ranks share a process
  const Strategy strategy = Strategy::ring(comm, options).value();
  Perceptron model;
  Momentum momentum({.learning_rate = 0.1});
  auto optimizer = strategy.distribute(momentum);
  Node& step = optimizer.minimize(model.loss);
  Session session(model.graph, {.intra_op_threads = 1});
  session.run(strategy.initializer(model.graph)).value();
  const uint64_t before = comm.traffic().bytes_sent;
  for (int i = 0; i < 5; ++i)
    session.run(step, {{model.x, rows_of(i, comm.rank(), comm.size())}})
        .value();
  const uint64_t sent = comm.traffic().bytes_sent - before;
  EXPECT_TRUE(strategy.check_replicas(session).ok());
  return {session.run(model.graph.collection(kTrainable), {}).value(), sent,
          strategy.explain()};
}

// Rank 0's, of so many.
Trained train_on(const char* transport, int ranks, const RingOptions& options) {
  Trained of_rank_0;
  spawn_ranks(transport, ranks, [&](Communicator& comm) {
    Trained trained = train(comm, options);
    if (comm.rank() == 0) of_rank_0 = std::move(trained);
  });
  return of_rank_0;
}

double difference(const Trained& a, const Trained& b) {
  double most = 0;
  for (size_t i = 0; i < a.variables.size(); ++i)
    for (size_t k = 0; k < a.variables[i].span<float>().size(); ++k)
      most = std::max<double>(most, std::abs(a.variables[i].span<float>()[k] -
                                             b.variables[i].span<float>()[k]));
  return most;
}

constexpr FactorOptions kFactors{.use = FactorUse::kOn};

TEST(FactorExchange, TrainsAsTheRingAndAsOneProcess) {
  const Trained alone = train_on("shm", 1, {.factors = kFactors});
  for (const int ranks : {2, 4}) {
    const Trained factored = train_on("shm", ranks, {.factors = kFactors});
    const Trained plain =
        train_on("shm", ranks, {.factors = {.use = FactorUse::kOff}});
    EXPECT_THAT(factored.explained, HasSubstr("w1: factors"));
    EXPECT_THAT(plain.explained, HasSubstr("w1: bucket"));
    EXPECT_LT(difference(factored, alone), 1e-6) << ranks;
    EXPECT_LT(difference(factored, plain), 1e-6) << ranks;
  }
}

TEST(FactorExchange, TravelsInTheBytesThatItSays) {
  const Trained plain = train_on("tcp", 2, {});
  const Trained factored = train_on("tcp", 2, {.factors = kFactors});
  const Trained half =
      train_on("tcp", 2, {.wire = DType::kBF16, .factors = kFactors});
  // In each of five steps: three weights, or four rows of what goes into each
  // layer and comes out of it, and always three biases.
  const double weights = (kInputs + 2 * kUnits) * kUnits * 4;
  const double factors = 4 * (kInputs + 5 * kUnits) * 4;
  const double biases = 3 * kUnits * 4;
  EXPECT_NEAR(static_cast<double>(plain.bytes_sent), 5 * (weights + biases),
              0.02 * 5 * weights);
  EXPECT_NEAR(static_cast<double>(factored.bytes_sent), 5 * (factors + biases),
              0.02 * 5 * factors);
  EXPECT_NEAR(static_cast<double>(half.bytes_sent), 5 * (factors + biases) / 2,
              0.02 * 5 * factors);
  EXPECT_LT(difference(half, factored), 5e-3);
  EXPECT_GT(difference(half, factored), 0);
}

TEST(FactorExchange, AutoTakesThemForAKnownBatchOnASlowLink) {
  RingOptions options{.factors = {.rows = kBatch / 2, .link_rate = 1e6}};
  EXPECT_THAT(train_on("shm", 2, options).explained,
              HasSubstr("w0: factors, 1024 bytes\n"));
  // The slowest arithmetic of any rank counts, so that all do the same.
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    RingOptions mine = options;
    if (comm.rank() == 1) mine.factors.flop_rate = 1;
    EXPECT_THAT(train(comm, mine).explained, HasSubstr("w0: bucket"));
  });
}

TEST(FactorExchange, UnevenBatchesAreAnError) {
  for (const char* transport : {"shm", "tcp"})
    spawn_ranks(transport, 2, [&](Communicator& comm) {
      const Strategy strategy =
          Strategy::ring(comm, {.group = fmt::format("ring{}", comm.rank()),
                                .factors = kFactors})
              .value();
      Perceptron model;
      GradientDescent plain;
      auto optimizer = strategy.distribute(plain);
      Node& step = optimizer.minimize(model.loss);
      Session session(model.graph, {.intra_op_threads = 1});
      session.run(strategy.initializer(model.graph)).value();
      const Tensor rows = numbers({4 + comm.rank(), kInputs}, 1);
      const Status status = session.run(step, {{model.x, rows}});
      EXPECT_EQ(status.code(), Code::kMismatch) << status.to_string();
      EXPECT_THAT(status.message(),
                  HasSubstr(fmt::format("rank {} has rows of shape [{}, 24], "
                                        "and every rank needs equally many",
                                        comm.rank(), 4 + comm.rank())));
    });
}

TEST(FactorExchange, DifferentChoicesAreAnErrorThatNamesThem) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    const Strategy strategy =
        Strategy::ring(comm, {.group = fmt::format("ring{}", comm.rank()),
                              .factors = {.rows = comm.rank() == 0 ? 4 : 4000,
                                          .link_rate = 1e6}})
            .value();
    Perceptron model;
    GradientDescent plain;
    auto optimizer = strategy.distribute(plain);
    Node& step = optimizer.minimize(model.loss);
    EXPECT_THAT(strategy.explain(),
                HasSubstr(comm.rank() == 0 ? "w0: factors" : "w0: bucket"));
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(model.graph)).value();
    const Status status =
        session.run(step, {{model.x, rows_of(0, comm.rank(), comm.size())}});
    EXPECT_EQ(status.code(), Code::kMismatch) << status.to_string();
    EXPECT_THAT(status.message(), HasSubstr("factors=False"));
  });
}

// Words of the forward pass come from one queue, and of the backward pass from
// another, which ends earlier: with the first of them a step has begun, but
// nothing of it has left this rank.
TEST(FactorExchange, NothingLeavesBeforeTheEndOfAllDataIsKnown) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    const Strategy strategy =
        Strategy::ring(comm, {.group = fmt::format("ring{}", comm.rank()),
                              .factors = kFactors})
            .value();
    Graph graph;
    const QueueOptions options{.capacity = 8, .shapes = {PartialShape{2, 3}}};
    FIFOQueue inputs(graph, {DType::kF32}, options);
    FIFOQueue targets(graph, {DType::kF32}, options);
    Node& input = inputs.enqueue({ones(graph, {2, 3})});
    Node& target = targets.enqueue({ones(graph, {2, 3})});
    Node& close = targets.close();
    const Value w = variable(graph, zeros(graph, {3, 3}), {.name = "w"});
    // The target comes only after everything that can go before it has gone.
    const Value x = inputs.dequeue()[0];
    const Value y = matmul(x, w);
    const Value t = [&] {
      const ControlScope after(graph, {y.node});
      return targets.dequeue()[0];
    }();
    GradientDescent plain({.learning_rate = 1.0});
    auto optimizer = strategy.distribute(plain);
    Node& train = optimizer.minimize(reduce_sum(y * t));
    Session session(graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(graph)).value();
    for (int i = 0; i < 3; ++i) session.run(input).value();
    session.run(target).value();
    session.run(close).value();
    session.run(train).value();
    EXPECT_EQ(session.run(train).code(), Code::kOutOfRange);
    // The group is whole.
    EXPECT_TRUE(strategy.check_replicas(session).ok());
    EXPECT_FLOAT_EQ(session.run(w).value().span<float>()[0], -2);
  });
}

}  // namespace
}  // namespace rondo
