#include "rondo/ps/kv_optimizer.h"

#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/optimizers.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

Tensor numbers(const Shape& shape, float first) {
  Tensor tensor = Tensor::empty(shape);
  for (float& x : tensor.span<float>()) x = first += 0.37f;
  return tensor;
}

// Some steps in a graph, and the same here: to the last bit.
void compare(Optimizer& graph_optimizer, Graph& graph, Value variable,
             Value gradient, const KvOptimizer& optimizer) {
  Node& train = graph_optimizer.apply_gradients({{gradient, variable}});
  Session session(graph);
  session.run(initializer(graph)).value();
  KvState state = initial_state(optimizer, numbers({1003}, 0.1f));
  for (int step = 0; step < 4; ++step) {
    const Tensor by = numbers({1003}, static_cast<float>(step));
    session.run(train, {{gradient, by}}).value();
    const Tensor expected = session.run(variable).value();
    update_all(optimizer, optimizer.learning_rate, by, state);
    for (size_t i = 0; i < 1003; ++i)
      ASSERT_EQ(state.value.span<float>()[i], expected.span<float>()[i])
          << step << " " << i;
  }
}

template <class Options, class Made>
void compare_with(const Options& options, const KvOptimizer& optimizer) {
  Graph graph;
  const Value w =
      variable(graph, constant(graph, numbers({1003}, 0.1f)), {.name = "w"});
  const Value g = placeholder(graph, {.shape = {1003}});
  Made made(options);
  compare(made, graph, w, g, optimizer);
}

TEST(KvOptimizer, IsTheGraphs) {
  compare_with<GradientDescentOptions, GradientDescent>(
      {.learning_rate = 0.1}, KvOptimizer::gradient_descent(0.1));
  compare_with<MomentumOptions, Momentum>({.learning_rate = 0.1},
                                          KvOptimizer::with_momentum(0.1, 0.9));
  compare_with<MomentumOptions, Momentum>(
      {.learning_rate = 0.1, .nesterov = true},
      KvOptimizer::with_momentum(0.1, 0.9, true));
  compare_with<AdagradOptions, Adagrad>({.learning_rate = 0.1},
                                        KvOptimizer::adagrad(0.1));
  compare_with<RmsPropOptions, RmsProp>({.learning_rate = 0.1},
                                        KvOptimizer::rms_prop(0.1));
  compare_with<RmsPropOptions, RmsProp>(
      {.learning_rate = 0.1, .momentum = 0.5, .centered = true},
      KvOptimizer::rms_prop(0.1, 0.9, 0.5, true));
  compare_with<AdamOptions, Adam>({.learning_rate = 0.1},
                                  KvOptimizer::adam(0.1));
  compare_with<AdamWOptions, AdamW>({.learning_rate = 0.1},
                                    KvOptimizer::adam_w(0.1));
}

TEST(KvOptimizer, LeavesTensorsOfOthersAlone) {
  KvState state = initial_state(KvOptimizer::adam(0.1), numbers({10}, 0));
  const Tensor held = state.value;
  const Tensor slot = state.slots[0];
  const float before = held.span<float>()[3];
  update_all(KvOptimizer::adam(0.1), 0.1, numbers({10}, 1), state);
  EXPECT_EQ(held.span<float>()[3], before);
  EXPECT_EQ(slot.span<float>()[3], 0);
  EXPECT_NE(state.value.span<float>()[3], before);
}

TEST(KvOptimizer, RowsAreUpdatedAlone) {
  const KvOptimizer momentum = KvOptimizer::with_momentum(0.5, 0.9);
  KvState state = initial_state(momentum, Tensor::zeros({6}));
  const int64_t rows[] = {2, 0};
  const float by[] = {1, 2, 3, 4};
  update_rows(momentum, 0.5, Tensor::of<int64_t>({2}, rows),
              Tensor::of<float>({2, 2}, by), state);
  const float expected[] = {-1.5f, -2, 0, 0, -0.5f, -1};
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(state.value.span<float>()[i], expected[i]);
}

}  // namespace
}  // namespace rondo
