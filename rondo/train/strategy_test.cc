#include "rondo/train/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/exchange.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/ops/update.h"
#include "rondo/kernels/exchange_group.h"
#include "rondo/train/strategy_name.h"

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kWidth = 6;
constexpr int64_t kBatch = 8;

Tensor numbers(const Shape& shape, int seed) {
  Tensor t = Tensor::empty(shape);
  for (int64_t i = 0; i < t.count(); ++i)
    t.span<float>()[static_cast<size_t>(i)] =
        static_cast<float>((i * 37 + seed * 101) % 19 - 9) / 10.0F;
  return t;
}

// Rows [rank * batch / size, ...) of a tensor.
Tensor share_of(const Tensor& whole, int rank, int size) {
  const int64_t rows = whole.shape()[0] / size;
  std::vector<int64_t> extents(whole.shape().extents().begin(),
                               whole.shape().extents().end());
  extents[0] = rows;
  Tensor part = Tensor::empty(Shape(extents), whole.dtype());
  std::memcpy(part.data(),
              static_cast<const char*>(whole.data()) +
                  static_cast<size_t>(rank) * part.bytes(),
              part.bytes());
  return part;
}

// A perceptron of several layers, every rank with other initial values.
struct Perceptron {
  explicit Perceptron(int rank, int layers = 4) {
    x = placeholder(graph, {.shape = {kAny, kWidth}, .name = "x"});
    Value h = x;
    for (int i = 0; i < layers; ++i) {
      const Tensor initial = numbers({kWidth, kWidth}, 10 * rank + i);
      const Value w = variable(graph, constant(graph, initial),
                               {.name = fmt::format("w{}", i)});
      h = make("Tanh", {matmul(h, w)});
    }
    loss = reduce_mean(make("Square", {h}));
  }
  Graph graph;
  Value x;
  Value loss;
};

RingOptions in_group(const Communicator& comm, BucketOptions buckets = {}) {
  // Ranks that are threads share a process, and so the names.
  return {.group = fmt::format("ring{}", comm.rank()), .buckets = buckets};
}

std::vector<float> curve(Session& session, Perceptron& model, Node& train,
                         int rank, int size) {
  std::vector<float> losses;
  for (int step = 0; step < 5; ++step) {
    const Tensor batch = numbers({kBatch, kWidth}, 1000 + step);
    const auto out =
        session
            .run({model.loss}, {{model.x, share_of(batch, rank, size)}},
                 {&train})
            .value();
    losses.push_back(out[0].span<float>()[0]);
  }
  return losses;
}

TEST(Strategy, RingTrainsAsOneProcessOnTheWholeBatch) {
  std::vector<float> alone;
  {
    Perceptron model(0);
    Momentum momentum({.learning_rate = 0.1});
    Node& train = momentum.minimize(model.loss);
    Session session(model.graph);
    session.run(initializer(model.graph)).value();
    alone = curve(session, model, train, 0, 1);
  }
  constexpr int kRanks = 4;
  std::vector<std::vector<float>> losses(kRanks);
  spawn_ranks("shm", kRanks, [&](Communicator& comm) {
    // A bucket for each layer.
    Strategy strategy =
        Strategy::ring(comm, in_group(comm, {.first_bytes = 1, .bytes = 1}))
            .value();
    Perceptron model(comm.rank());
    Momentum momentum({.learning_rate = 0.1});
    auto optimizer = strategy.distribute(momentum);
    Node& train = optimizer.minimize(model.loss);
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(model.graph)).value();
    losses[static_cast<size_t>(comm.rank())] =
        curve(session, model, train, comm.rank(), kRanks);
    EXPECT_TRUE(strategy.check_replicas(session).ok());
    EXPECT_TRUE(optimizer.slot(model.graph.value("w0"), "velocity"));
  });
  for (size_t step = 0; step < alone.size(); ++step) {
    float mean = 0;
    for (const auto& of_rank : losses) mean += of_rank[step] / kRanks;
    EXPECT_NEAR(mean, alone[step], 1e-6) << step;
  }
}

TEST(Strategy, SparseGradientsTravelAsRows) {
  constexpr int kRanks = 3;
  spawn_ranks("shm", kRanks, [&](Communicator& comm) {
    Strategy strategy = Strategy::ring(comm, in_group(comm)).value();
    Graph graph;
    const Value table =
        variable(graph, zeros(graph, {10, 2}), {.name = "table"});
    // Rank r has r + 1 rows, so that all have a different number of them.
    const Value at =
        placeholder(graph, {.dtype = DType::kI64, .shape = {kAny}});
    const Value loss = reduce_sum(gather(table, at));
    GradientDescent plain({.learning_rate = 1.0});
    auto optimizer = strategy.distribute(plain);
    Node& train = optimizer.minimize(loss);
    Session session(graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(graph)).value();
    std::vector<int64_t> rows;
    for (int64_t i = 0; i <= comm.rank(); ++i) rows.push_back(i);
    session
        .run(train, {{at, Tensor::of(Shape{comm.rank() + 1},
                                     std::span<const int64_t>(rows))}})
        .value();
    const Tensor out = session.run(table).value();
    // Row i was used by the ranks from i on; the mean is over all ranks.
    for (int64_t i = 0; i < 10; ++i)
      EXPECT_NEAR(
          out.span<float>()[static_cast<size_t>(2 * i)],
          -static_cast<float>(std::max<int64_t>(0, kRanks - i)) / kRanks, 1e-6)
          << i;
    EXPECT_TRUE(strategy.check_replicas(session).ok());
  });
}

// What a step of the perceptron did, by the timeline.
TEST(Strategy, TheFirstBucketLeavesBeforeTheLastGradientIsThere) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Strategy strategy =
        Strategy::ring(comm, in_group(comm, {.first_bytes = 1, .bytes = 1}))
            .value();
    Perceptron model(comm.rank(), 8);
    GradientDescent plain;
    const auto gradients = Optimizer::compute_gradients(model.loss);
    auto optimizer = strategy.distribute(plain);
    Node& train = optimizer.apply_gradients(gradients);
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(model.graph)).value();
    Timeline timeline;
    session
        .run({}, {{model.x, numbers({kBatch, kWidth}, comm.rank())}}, {&train},
             {.timeline = &timeline})
        .value();
    // The gradient of the first layer is the last to be computed.
    const std::string last = gradients[0].gradient.values.node->name();
    double first_bucket = -1;
    double last_gradient = -1;
    for (const Timeline::Event& event : timeline.events()) {
      if (event.op == "AllReduce" &&
          (first_bucket < 0 || event.start_us < first_bucket))
        first_bucket = event.start_us;
      if (event.node == last) last_gradient = event.start_us;
    }
    ASSERT_GE(first_bucket, 0);
    ASSERT_GE(last_gradient, 0);
    EXPECT_LT(first_bucket, last_gradient);
  });
}

TEST(Strategy, FailsEverywhereWhenAStepFailsOnOneRank) {
  spawn_ranks("shm", 3, [&](Communicator& comm) {
    Strategy strategy = Strategy::ring(comm, in_group(comm)).value();
    Perceptron model(comm.rank());
    const Value checked = make("CheckNumerics", {model.loss},
                               {{"message", std::string("the loss")}});
    GradientDescent plain;
    auto optimizer = strategy.distribute(plain);
    Node& train = optimizer.minimize(checked);
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(model.graph)).value();
    Tensor batch = numbers({kBatch, kWidth}, 1);
    if (comm.rank() == 1) batch.span<float>()[0] = NAN;
    const Status status =
        session.run({checked}, {{model.x, batch}}, {&train}).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("the loss"));
    if (comm.rank() != 1) {
      EXPECT_THAT(status.message(), HasSubstr("aborted by rank 1"));
    }
  });
}

TEST(Strategy, ADeadlineEndsAStepThatWaitsForOthers) {
  std::promise<void> over;
  std::shared_future<void> known = over.get_future();
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Strategy strategy = Strategy::ring(comm, in_group(comm)).value();
    Perceptron model(comm.rank());
    GradientDescent plain;
    auto optimizer = strategy.distribute(plain);
    Node& train = optimizer.minimize(model.loss);
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(model.graph)).value();
    const std::vector<Feed> feeds = {{model.x, numbers({kBatch, kWidth}, 1)}};
    if (comm.rank() == 0) {
      const Status status =
          session.run({}, feeds, {&train}, {.timeout = seconds(0.2)}).status();
      EXPECT_EQ(status.code(), Code::kTimeout) << status.message();
      over.set_value();
      return;
    }
    // Too late: rank 0 has given up. What it had handed over by then may still
    // do for one step here.
    known.wait();
    Status status = session.run(train, feeds);
    if (status.ok()) status = session.run(train, feeds);
    EXPECT_THAT(status.message(), HasSubstr("aborted by rank 0"));
    EXPECT_THAT(status.message(), HasSubstr("did not end in time"));
  });
}

TEST(Strategy, TheEndOfDataOnAllRanksLeavesTheGroupWhole) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Strategy strategy = Strategy::ring(comm, in_group(comm)).value();
    Graph graph;
    const Value w = variable(graph, ones(graph, {2}), {.name = "w"});
    FIFOQueue queue(graph, {DType::kF32}, {.shapes = {PartialShape{2}}});
    Node& enqueue = queue.enqueue({constant(graph, Tensor::full({2}, 1.0F))});
    const Value taken = queue.dequeue()[0];
    GradientDescent plain({.learning_rate = 1.0});
    auto optimizer = strategy.distribute(plain);
    Node& by_queue = optimizer.minimize(reduce_sum(make("Mul", {w, taken})));
    Node& without = optimizer.minimize(reduce_sum(w));
    Node& close = queue.close();
    Session session(graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(graph)).value();
    session.run(enqueue).value();
    session.run(by_queue).value();
    session.run(close).value();
    EXPECT_EQ(session.run(by_queue).code(), Code::kOutOfRange);
    session.run(without).value();
    EXPECT_TRUE(strategy.check_replicas(session).ok());
  });
}

TEST(Strategy, ASessionWithSeveralDevicesIsRefused) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Strategy strategy = Strategy::ring(comm, in_group(comm)).value();
    Perceptron model(comm.rank());
    Node& begin = strategy.initializer(model.graph);
    Session several(model.graph, {.devices = {{"cpu", 2}}});
    EXPECT_THAT(several.run(begin).message(),
                HasSubstr("need a session with one device"));
    // It has begun no exchange, so the group is as it was.
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(begin).value();
  });
}

TEST(Strategy, ReplicasThatDifferAreNamed) {
  spawn_ranks("shm", 3, [&](Communicator& comm) {
    Strategy strategy = Strategy::ring(comm, in_group(comm)).value();
    Perceptron model(comm.rank());
    Node& change =
        *assign(model.graph.value("w1"), zeros(model.graph, {kWidth, kWidth}))
             .node;
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(model.graph)).value();
    EXPECT_TRUE(strategy.check_replicas(session).ok());
    if (comm.rank() == 2) session.run(change).value();
    const Status status = strategy.check_replicas(session);
    EXPECT_EQ(status.code(), Code::kMismatch);
    EXPECT_THAT(status.message(), HasSubstr("\"w1\" on rank 2"));
  });
}

TEST(Strategy, AnExchangeInABranchThatIsNotTakenIsAnError) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    const RingOptions options = in_group(comm);
    const Strategy strategy = Strategy::ring(comm, options).value();
    Graph graph;
    const Value taken =
        placeholder(graph, {.dtype = DType::kBool, .shape = {}});
    const Value x = constant(graph, Tensor::full({2}, 1.0F));
    const Value y = cond(
        taken,
        [&] {
          return all_reduce({identity(x)}, {.group = options.group}, false,
                            DType::kF32);
        },
        [&] { return std::vector<Value>{identity(x)}; })[0];
    Session session(graph, {.intra_op_threads = 1});
    const auto result = session.run(y, {{taken, Tensor::full({}, false)}});
    EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(result.status().message(), HasSubstr("not taken"));
  });
}

// What a step of one variable makes this rank send.
uint64_t bytes_of_a_step(Communicator& comm, DType wire) {
  constexpr int64_t kMany = 1 << 16;
  RingOptions options = in_group(comm);
  options.wire = wire;
  Strategy strategy = Strategy::ring(comm, options).value();
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
  return bytes;
}

TEST(Strategy, HalfTheBytesTravelAsBf16) {
  std::map<DType, uint64_t> bytes;
  for (const DType wire : {DType::kF32, DType::kBF16})
    spawn_ranks("tcp", 2, [&](Communicator& comm) {
      const uint64_t sent = bytes_of_a_step(comm, wire);
      if (comm.rank() == 0) bytes[wire] = sent;
    });
  EXPECT_NEAR(static_cast<double>(bytes[DType::kF32]) /
                  static_cast<double>(bytes[DType::kBF16]),
              2, 0.05);
}

TEST(Strategy, FirstValuesThatAreTheSameDoNotTravel) {
  constexpr int64_t kMany = 1 << 16;
  spawn_ranks("tcp", 3, [&](Communicator& comm) {
    Graph graph;
    const float mine = comm.rank() == 2 ? 2.0F : 1.0F;
    const Value same = variable(
        graph, constant(graph, Tensor::full({kMany}, 3.0F)), {.name = "same"});
    const Value other = variable(
        graph, constant(graph, Tensor::full({9}, mine)), {.name = "other"});
    Strategy strategy = Strategy::ring(comm, in_group(comm)).value();
    Session session(graph, {.intra_op_threads = 1});
    const uint64_t before = comm.traffic().bytes_sent;
    session.run(strategy.initializer(graph)).value();
    EXPECT_LT(comm.traffic().bytes_sent - before, kMany);
    EXPECT_THAT(session.run(same).value().span<float>(), testing::Each(3.0F));
    EXPECT_THAT(session.run(other).value().span<float>(), testing::Each(1.0F));
  });
}

TEST(Buckets, ComeInTheOrderOfTheGradientsAndHaveTheirSizes) {
  Perceptron model(0, 6);
  const auto gradients = Optimizer::compute_gradients(model.loss);
  const double one = kWidth * kWidth * sizeof(float);
  EXPECT_THAT(
      plan_buckets(gradients, {.first_bytes = one, .bytes = 2 * one}, 2),
      ElementsAre(ElementsAre(5), ElementsAre(4, 3), ElementsAre(2, 1),
                  ElementsAre(0)));
  // One that is larger than a bucket is alone.
  EXPECT_THAT(plan_buckets(gradients, {.first_bytes = 1, .bytes = 1}, 2),
              testing::SizeIs(6));
}

TEST(Buckets, GrowWithTheNumberOfRanks) {
  Graph graph;
  std::vector<GradientAndVariable> gradients;
  for (int i = 0; i < 60; ++i) {
    const Value of_a_mib = placeholder(graph, {.shape = Shape{1 << 18}});
    gradients.push_back({of_a_mib, of_a_mib});
  }
  for (const auto& [ranks, members] : std::map<int, size_t>{
           {2, 4}, {4, 4}, {8, 8}, {24, 24}, {64, 25}, {1000, 25}}) {
    const auto buckets = plan_buckets(gradients, {}, ranks);
    EXPECT_THAT(buckets[0], testing::SizeIs(1));
    EXPECT_THAT(buckets[1], testing::SizeIs(members)) << ranks << " ranks";
  }
}

TEST(Strategy, NamesAreKnown) {
  EXPECT_EQ(parse_strategy("ring").value(), StrategyKind::kRing);
  EXPECT_EQ(parse_strategy("single").value(), StrategyKind::kSingle);
  EXPECT_THAT(parse_strategy("rign").status().message(),
              HasSubstr("there are single, ring, allreduce"));
  using Variables = std::map<std::string, std::string>;
  const auto from = [](Variables variables) {
    return Strategy::from_env(Env(std::move(variables)));
  };
  EXPECT_EQ(from({}).value().name(), "single");
  for (const char* name : {"single", "ring", "hybrid", "ps-async", "ssp"})
    EXPECT_THAT(from({{"RONDO_STRATEGY", name}, {"RONDO_BACKUP", "1"}})
                    .status()
                    .message(),
                HasSubstr("RONDO_BACKUP=1: only the strategy ps has"));
  EXPECT_THAT(from({{"RONDO_BACKUP", "-1"}}).status().message(),
              HasSubstr("RONDO_BACKUP=-1: expected"));
  EXPECT_THAT(from({{"RONDO_STRATEGY", "star"}}).status().message(),
              HasSubstr("RONDO_STRATEGY: there is no strategy \"star\""));
}

TEST(ExchangeGroup, AGraphWithoutItsGroupIsAnError) {
  Graph graph;
  const Value x = constant(graph, Tensor::full({2}, 1.0F));
  Node& node = graph.add(
      {.op = "AllReduce",
       .inputs = {x},
       .attrs = {{"group", std::string("nobody")}, {"sequence", int64_t{0}}}});
  Session session(graph);
  EXPECT_THAT(session.run(node).message(), HasSubstr("no group \"nobody\""));
}

}  // namespace
}  // namespace rondo
