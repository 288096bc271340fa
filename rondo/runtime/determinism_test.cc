// Training twice from one seed gives the same bits.
#include <gtest/gtest.h>

#include <cstring>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gathering.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/optimizers.h"
#include "rondo/kernels/cpu/parallel.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

constexpr int kSteps = 20;

Value weights(Graph& g, const Shape& shape) {
  return variable(g, truncated_normal(g, shape, 0, 0.2));
}

// Two branches that can run at once, with random numbers in each, an embedding
// with a sparse gradient, and a convolution.
std::vector<Tensor> train(const SessionOptions& options) {
  Graph g;
  g.set_seed(17);
  const Value images = random_normal(g, {16, 12, 12, 3});
  const Value words =
      random_uniform_int(constant_ints(g, {16, 5}), constant(g, 0, DType::kI32),
                         constant(g, 40, DType::kI32));
  const Value labels =
      random_uniform_int(constant_ints(g, {16}), constant(g, 0, DType::kI32),
                         constant(g, 10, DType::kI32));
  const Value seen = max_pool(
      relu(conv2d(images, weights(g, {3, 3, 3, 16}), {{.padding = "SAME"}})),
      {{.strides = {2, 2}}});
  const Value from_images =
      matmul(dropout(reshape(seen, {16, 6 * 6 * 16}), {.rate = 0.3}),
             weights(g, {6 * 6 * 16, 32}));
  const Value read =
      reduce_mean(embedding_lookup(weights(g, {40, 64}), words), {{1}});
  const Value from_words =
      matmul(dropout(tanh(read), {.rate = 0.3}), weights(g, {64, 32}));
  const Value logits =
      matmul(relu(from_images + from_words), weights(g, {32, 10}));
  const Value loss =
      reduce_mean(sparse_softmax_cross_entropy_with_logits(logits, labels));
  Adam adam({.learning_rate = 0.01});
  Node& step = adam.minimize(loss);
  Session session(g, options);
  session.run(initializer(g)).value();
  for (int i = 0; i < kSteps; ++i) session.run(step).value();
  return session.run(g.collection(kVariables), {}).value();
}

void expect_same_bits(const std::vector<Tensor>& a,
                      const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].shape(), b[i].shape());
    EXPECT_EQ(std::memcmp(a[i].data(), b[i].data(), a[i].bytes()), 0)
        << "variable " << i;
  }
}

TEST(Determinism, TheSameSeedGivesTheSameBits) {
  const SessionOptions two{.inter_op_threads = 1, .intra_op_threads = 2};
  expect_same_bits(train(two), train(two));
}

TEST(Determinism, ThreadsBetweenNodesDoNotMatter) {
  const auto alone = train({.inter_op_threads = 1, .intra_op_threads = 2});
  for (const int threads : {2, 4})
    expect_same_bits(
        alone, train({.inter_op_threads = threads, .intra_op_threads = 2}));
}

TEST(Determinism, WhatIsFoldedHasTheBitsOfAStep) {
  Graph g;
  g.set_seed(3);
  const int before = intra_op_threads();
  // Not what the session has.
  set_intra_op_threads(1);
  Session session(g, {.intra_op_threads = 2});
  const Tensor x = session.run(random_normal(g, {3000, 64})).value();
  const Value fed = placeholder(g, {.shape = {3000, 64}});
  const auto sums = session
                        .run({make("BiasAddGrad", {constant(g, x)}),
                              make("BiasAddGrad", {fed})},
                             {{fed, x}})
                        .value();
  set_intra_op_threads(before);
  EXPECT_EQ(std::memcmp(sums[0].data(), sums[1].data(), sums[0].bytes()), 0);
}

}  // namespace
}  // namespace rondo
