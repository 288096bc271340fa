#include "rondo/train/accumulated_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/print.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/runs.h"
#include "rondo/graph/ops/state.h"
#include "rondo/train/strategy.h"

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kWords = 12;
constexpr int64_t kBatch = 12;
constexpr int kSteps = 3;

// Words are rows of a table, whose gradient is sparse, in front of two layers.
struct Model {
  Model() {
    words = placeholder(graph, {.dtype = DType::kI64, .shape = {kAny}});
    const auto weights = [&](const Shape& shape, const char* name) {
      Tensor t = Tensor::empty(shape);
      for (int64_t i = 0; i < t.count(); ++i)
        t.span<float>()[static_cast<size_t>(i)] =
            static_cast<float>(i * 37 % 19 - 9) / 10.0F;
      return variable(graph, constant(graph, t), {.name = name});
    };
    const Value table = weights({kWords, 4}, "table");
    const Value w1 = weights({4, 5}, "w1");
    const Value w2 = weights({5, 2}, "w2");
    steps = variable(graph, zeros(graph, {}, DType::kI64),
                     {.name = "steps", .trainable = false});
    const Value h = make("Tanh", {matmul(gather(table, words), w1)});
    loss = reduce_mean(make("Square", {matmul(h, w2) - 1.0F}));
  }
  Graph graph;
  Value words, steps, loss;
};

// The words [first, first + count) of the batch of a step.
Tensor batch(int step, int64_t first, int64_t count) {
  Tensor words = Tensor::empty({count}, DType::kI64);
  for (int64_t i = 0; i < count; ++i)
    words.span<int64_t>()[static_cast<size_t>(i)] =
        (5 * (first + i) + step) % kWords;
  return words;
}

struct Trained {
  std::vector<Tensor> variables;
  std::vector<uint64_t> bytes;  // that this rank sent in each run
};

// Three steps, each in `accumulate` runs.
Trained train(Communicator& comm, int accumulate) {
  const Strategy strategy =
      Strategy::ring(comm, {.group = fmt::format("ring{}", comm.rank()),
                            .accumulate = accumulate})
          .value();
  Model model;
  Adam adam({.learning_rate = 0.1});
  auto optimizer = strategy.distribute(adam);
  Node& step = optimizer.minimize(model.loss, {.global_step = model.steps});
  Session session(model.graph, {.intra_op_threads = 1});
  session.run(strategy.initializer(model.graph)).value();
  Trained trained;
  const int64_t rows = kBatch / (comm.size() * accumulate);
  for (int i = 0; i < kSteps; ++i)
    for (int run = 0; run < accumulate; ++run) {
      const uint64_t before = comm.traffic().bytes_sent;
      const int64_t first = (comm.rank() * accumulate + run) * rows;
      session.run(step, {{model.words, batch(i, first, rows)}}).value();
      trained.bytes.push_back(comm.traffic().bytes_sent - before);
    }
  EXPECT_EQ(session.run(model.steps).value().span<int64_t>()[0], kSteps);
  EXPECT_TRUE(strategy.check_replicas(session).ok());
  trained.variables =
      session.run(model.graph.collection(kTrainable), {}).value();
  return trained;
}

Trained train_on(int ranks, int accumulate) {
  Trained of_rank_0;
  spawn_ranks("tcp", ranks, [&](Communicator& comm) {
    Trained trained = train(comm, accumulate);
    if (comm.rank() == 0) of_rank_0 = std::move(trained);
  });
  return of_rank_0;
}

TEST(AccumulatedGradients, MicroBatchesTrainAsOneBatch) {
  const Trained whole = train_on(1, 1);
  for (const int ranks : {1, 2})
    for (const int accumulate : {2, 3}) {
      const Trained parts = train_on(ranks, accumulate);
      for (size_t i = 0; i < whole.variables.size(); ++i)
        for (size_t k = 0; k < whole.variables[i].span<float>().size(); ++k)
          EXPECT_NEAR(parts.variables[i].span<float>()[k],
                      whole.variables[i].span<float>()[k], 1e-5)
              << ranks << " ranks, " << accumulate << " runs";
    }
}

TEST(AccumulatedGradients, TravelInTheLastRunAlone) {
  const std::vector<uint64_t> bytes = train_on(2, 3).bytes;
  ASSERT_EQ(bytes.size(), 9U);
  for (size_t run = 0; run < bytes.size(); ++run) {
    if (run % 3 == 2) {
      EXPECT_GT(bytes[run], 0U) << run;
    } else {
      EXPECT_EQ(bytes[run], 0U) << run;
    }
  }
}

TEST(AccumulatedGradients, KeepTheOrderInWhichTheyBecomeReady) {
  Model model;
  const auto before = Optimizer::compute_gradients(model.loss);
  const auto after = accumulated_gradients(before, 2, "ring");
  EXPECT_EQ(in_order_of_readiness(after), in_order_of_readiness(before));
  EXPECT_EQ(after[2].gradient.values.node->op().name, "MeanOfRuns");
  EXPECT_EQ(after[0].gradient.values.node->op().name, "RowsOfRuns");
  EXPECT_EQ(after[0].gradient.shape, before[0].gradient.shape);
}

TEST(AccumulatedGradients, NoRunIsTooFew) {
  spawn_ranks("inproc", 1, [&](Communicator& comm) {
    EXPECT_THAT(Strategy::ring(comm, {.accumulate = 0}).status().message(),
                HasSubstr("accumulate is 0"));
  });
}

TEST(MeanOfRuns, IsThereInTheLastOfThem) {
  Graph graph;
  const Value x = placeholder(graph, {.shape = {kAny}});
  const Value mean = mean_of_runs(x, 2);
  const Value total = variable(graph, zeros(graph, {2}), {.name = "total"});
  Node& add = *assign_add(total, mean).node;
  Session session(graph);
  session.run(initializer(graph)).value();
  const auto run = [&](std::vector<float> values) {
    const auto count = static_cast<int64_t>(values.size());
    return session.run(
        add, {{x, Tensor::of(Shape{count}, std::span<const float>(values))}});
  };
  for (const float more : {0.0F, 10.0F}) {
    EXPECT_TRUE(run({1 + more, 2}).ok());
    const Tensor before = session.run(total).value();
    EXPECT_TRUE(run({3 + more, 6}).ok());
    const Tensor after = session.run(total).value();
    EXPECT_FLOAT_EQ(after.span<float>()[0] - before.span<float>()[0], 2 + more);
    EXPECT_FLOAT_EQ(after.span<float>()[1] - before.span<float>()[1], 4);
  }
  EXPECT_THAT(session.run(total).value().span<float>(), ElementsAre(14, 8));
  EXPECT_TRUE(run({1, 2}).ok());
  EXPECT_THAT(run({1}).message(), HasSubstr("had [2] in the run before"));
}

TEST(MeanOfRuns, LeavesOutOnlyWhatNeedsIt) {
  Graph graph;
  const Value mean = mean_of_runs(constant(graph, 3.0, DType::kF32), 2);
  const Value runs =
      variable(graph, zeros(graph, {}), {.name = "runs", .trainable = false});
  const Value sum =
      variable(graph, zeros(graph, {}), {.name = "sum", .trainable = false});
  // One more run, behind the use of how many there were; that is left out in
  // every other run.
  Node& use = *assign_add(sum, mean * runs).node;
  Node& count = *assign_add(runs, constant(graph, 1.0, DType::kF32)).node;
  Session session(graph);
  session.run(initializer(graph)).value();
  for (int i = 0; i < 4; ++i) session.run({}, {}, {&use, &count}).value();
  EXPECT_FLOAT_EQ(session.run(runs).value().span<float>()[0], 4);
  EXPECT_FLOAT_EQ(session.run(sum).value().span<float>()[0], 3 * 1 + 3 * 3);
}

// A loader that reads each batch into the same memory.
TEST(RowsOfRuns, KeepsWhatTheCallerWritesOver) {
  Graph graph;
  const Value values = placeholder(graph, {.shape = {1, 1}});
  const Value at = placeholder(graph, {.dtype = DType::kI64, .shape = {1}});
  const Rows rows = rows_of_runs({values, at}, 2);
  const Value table = variable(graph, zeros(graph, {3, 1}), {.name = "table"});
  Node& add = *scatter_add(table, rows.indices, rows.values).node;
  Session session(graph);
  session.run(initializer(graph)).value();
  Tensor value = Tensor::empty({1, 1});
  Tensor index = Tensor::empty({1}, DType::kI64);
  for (const int64_t i : {0, 2}) {
    value.span<float>()[0] = static_cast<float>(10 + i);
    index.span<int64_t>()[0] = i;
    session.run(add, {{values, value}, {at, index}}).value();
  }
  EXPECT_THAT(session.run(table).value().span<float>(), ElementsAre(5, 0, 6));
}

// Two means of three runs: the first is counted, then the run may fail, then
// the second is counted.
struct TwoMeans {
  TwoMeans() {
    const PlaceholderOptions flag{.dtype = DType::kBool, .shape = {}};
    begins = placeholder(graph, flag);
    goes_on = placeholder(graph, flag);
    const Value first = mean_after(assert_that(begins, {}));
    // Also where the mean is not there yet.
    Node& counted = graph.add({.op = "Await", .control_inputs = {first.node}});
    const Value second = [&] {
      const ControlScope after(graph, {&counted});
      return mean_after(assert_that(goes_on, {}));
    }();
    for (const Value& mean : {first, second}) {
      totals.push_back(variable(graph, zeros(graph, {})));
      add.push_back(assign_add(totals.back(), mean).node);
    }
  }
  Value mean_after(Node& node) {
    const ControlScope after(graph, {&node});
    return mean_of_runs(identity(constant(graph, 1.0, DType::kF32)), 3);
  }

  Graph graph;
  Value begins, goes_on;
  std::vector<Value> totals;
  std::vector<Node*> add;
};

TEST(MeanOfRuns, ARunThatFailsHalfwayLeavesAllAlike) {
  TwoMeans model;
  Session session(model.graph);
  session.run(initializer(model.graph)).value();
  const auto run = [&](bool begins, bool goes_on) {
    return session
        .run({},
             {{model.begins, Tensor::full({}, begins)},
              {model.goes_on, Tensor::full({}, goes_on)}},
             model.add)
        .ok();
  };
  const auto totals = [&] {
    std::vector<float> found;
    const auto tensors = session.run(model.totals, {}).value();
    for (const Tensor& total : tensors) found.push_back(total.span<float>()[0]);
    return found;
  };
  // Those before it count no more.
  EXPECT_TRUE(run(true, true));
  EXPECT_FALSE(run(true, false));
  EXPECT_TRUE(run(true, true));
  EXPECT_TRUE(run(true, true));
  EXPECT_THAT(totals(), ElementsAre(0, 0));
  EXPECT_TRUE(run(true, true));
  EXPECT_THAT(totals(), ElementsAre(1, 1));
  // One that comes to neither, as at the end of the data, changes nothing.
  EXPECT_TRUE(run(true, true));
  EXPECT_FALSE(run(false, true));
  EXPECT_TRUE(run(true, true));
  EXPECT_TRUE(run(true, true));
  EXPECT_THAT(totals(), ElementsAre(2, 2));
}

}  // namespace
}  // namespace rondo
