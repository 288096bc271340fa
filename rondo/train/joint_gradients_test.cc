#include "rondo/train/joint_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/train/strategy.h"

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Words from a queue; the loss grows by one for each element of a word's row,
// and by w.
struct Model {
  Model()
      : queue(graph, {DType::kI64},
              {.capacity = 100, .shapes = {PartialShape{1}}}) {
    word = placeholder(graph, {.dtype = DType::kI64, .shape = {1}});
    enqueue = &queue.enqueue({word});
    close = &queue.close();
    const Value table =
        variable(graph, zeros(graph, {4, 2}), {.name = "table"});
    const Value w = variable(graph, zeros(graph, {3}), {.name = "w"});
    steps = variable(graph, zeros(graph, {}, DType::kI64),
                     {.name = "steps", .trainable = false});
    const Value taken = queue.dequeue()[0];
    const Value of_rows = reduce_sum(gather(table, taken));
    loss = of_rows + reduce_sum(w * cast(taken, DType::kF32));
  }
  Graph graph;
  FIFOQueue queue;
  Value word, steps, loss;
  Node* enqueue = nullptr;
  Node* close = nullptr;
};

Strategy strategy_of(Communicator& comm, bool join = true) {
  return Strategy::ring(
             comm, {.group = fmt::format("ring{}", comm.rank()), .join = join})
      .value();
}

// Rank r has r + 1 words, all of them r.
TEST(Join, RanksWithoutDataTakePartAndTheMeanIsOfTheOthers) {
  spawn_ranks("shm", 3, [&](Communicator& comm) {
    const Strategy strategy = strategy_of(comm);
    Model model;
    Momentum momentum({.learning_rate = 1.0, .momentum = 0.5});
    auto optimizer = strategy.distribute(momentum);
    Node& train = optimizer.minimize(model.loss, {.global_step = model.steps});
    Session session(model.graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(model.graph)).value();
    for (int i = 0; i <= comm.rank(); ++i)
      session
          .run(*model.enqueue,
               {{model.word, Tensor::full({1}, int64_t{comm.rank()})}})
          .value();
    session.run(*model.close).value();
    Status status;
    while (status.ok()) status = session.run(train);
    EXPECT_EQ(status.code(), Code::kOutOfRange) << status.to_string();
    strategy.join(session).value();
    EXPECT_TRUE(strategy.check_replicas(session).ok());
    EXPECT_EQ(session.run(model.steps).value().span<int64_t>()[0], 3);
    // The gradient of w is the mean word of those that still have one: 1, 1.5
    // and 2. The velocity is 1, 2 and 3.
    const auto w = session.run(model.graph.value("w")).value();
    EXPECT_THAT(w.span<float>(), ElementsAre(-6, -6, -6));
    // Row 0 was used by one of three ranks, in the first step alone; a sparse
    // update leaves rows alone that it does not have.
    const auto table = session.run(model.graph.value("table")).value();
    EXPECT_FLOAT_EQ(table.span<float>()[0], -1.0F / 3);
    // Row 2: velocities 1/3, 1/6 + 1/2 and 1/3 + 1.
    EXPECT_FLOAT_EQ(table.span<float>()[4], -(1.0F / 3 + 2.0F / 3 + 4.0F / 3));
  });
}

// "operation sequence", of all exchanges that are optional, or are not.
std::vector<std::string> exchanges(const Graph& graph, bool optional) {
  std::vector<std::string> lines;
  for (const auto& node : graph.nodes())
    if (node->attrs().has("sequence") &&
        node->attrs().get<bool>("optional") == optional)
      lines.push_back(fmt::format("{} {}", node->op().name,
                                  node->attrs().get<int64_t>("sequence")));
  return lines;
}

TEST(Join, ThoseWithoutDataMakeTheSameExchanges) {
  Model model;
  const auto gradients = Optimizer::compute_gradients(model.loss);
  const GradientExchange exchange{
      .group = "g", .size = 2, .factors = {.use = FactorUse::kOff}};
  joint_gradients(gradients, exchange, plan_exchange(gradients, exchange));
  // How many have data comes first, on both.
  EXPECT_THAT(exchanges(model.graph, false),
              ElementsAre("AllReduce 0", "AllReduce 1", "AllGatherRows 2",
                          "AllReduce 0"));
  EXPECT_THAT(exchanges(model.graph, true),
              ElementsAre("AllReduce 1", "AllGatherRows 2"));
  // A rank says that it has data when it has had them.
  EXPECT_THAT(model.graph.find("g/training")->control_inputs(),
              ElementsAre(gradients[1].gradient.values.node));
  EXPECT_TRUE(model.graph.find("g/joining")->control_inputs().empty());
}

TEST(Join, AfterItAllTrainAgain) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    const Strategy strategy = strategy_of(comm);
    Graph graph;
    const Value x = placeholder(graph, {.shape = {2}});
    const Value w = variable(graph, zeros(graph, {2}), {.name = "w"});
    GradientDescent plain({.learning_rate = 1.0});
    auto optimizer = strategy.distribute(plain);
    Node& train = optimizer.minimize(reduce_sum(w * x));
    Session session(graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(graph)).value();
    for (int epoch = 0; epoch < 2; ++epoch) {
      for (int i = 0; i <= comm.rank(); ++i)
        session
            .run(train,
                 {{x, Tensor::full({2}, comm.rank() == 0 ? 1.0F : 3.0F)}})
            .value();
      strategy.join(session).value();
    }
    // 2 and 3, twice.
    EXPECT_THAT(session.run(w).value().span<float>(), ElementsAre(-10, -10));
  });
}

TEST(Join, IsFedWhatUpdatesNeed) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    const Strategy strategy = strategy_of(comm);
    Graph graph;
    const Value rate = placeholder(graph, {.shape = {}});
    const Value x = placeholder(graph, {.shape = {2}});
    const Value w = variable(graph, zeros(graph, {2}), {.name = "w"});
    GradientDescent plain({.learning_rate = rate});
    auto optimizer = strategy.distribute(plain);
    Node& train = optimizer.minimize(reduce_sum(w * x));
    Session session(graph, {.intra_op_threads = 1});
    session.run(strategy.initializer(graph)).value();
    const Feed fed{rate, Tensor::full({}, 0.5F)};
    if (comm.rank() == 1)
      session.run(train, {fed, {x, Tensor::full({2}, 3.0F)}}).value();
    strategy.join(session, {fed}).value();
    EXPECT_THAT(session.run(w).value().span<float>(), ElementsAre(-1.5, -1.5));
  });
}

TEST(Join, NeedsItsOptionAndATrainingNode) {
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    Graph graph;
    Session session(graph, {.intra_op_threads = 1});
    {
      Strategy without = strategy_of(comm, false);
      EXPECT_THAT(without.join(session).message(),
                  HasSubstr("make it with RingOptions::join"));
    }
    EXPECT_THAT(Strategy::ring(comm, {.accumulate = 2, .join = true})
                    .status()
                    .message(),
                HasSubstr("does not go together with accumulate"));
    Strategy strategy = strategy_of(comm);
    EXPECT_THAT(strategy.join(session).message(),
                HasSubstr("the graph has 0 training nodes"));
  });
}

}  // namespace
}  // namespace rondo
