#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/joining.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/pool.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/passes/passes.h"

namespace rondo {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::UnorderedElementsAre;

Value input(Graph& g, PartialShape shape, const char* name,
            DType dtype = DType::kF32) {
  return placeholder(g,
                     {.dtype = dtype, .shape = std::move(shape), .name = name});
}

Subgraph step_for(std::vector<Value> feeds, std::vector<Value> ys) {
  return extract(ys[0].graph(), feeds, ys, {});
}

std::vector<std::string> ops(const Subgraph& part) {
  std::vector<std::string> all;
  for (const Node* node : ordered_nodes(part))
    if (node->op().name != "Placeholder") all.emplace_back(node->op().name);
  return all;
}

std::string text(const Node& node, const char* attr) {
  return node.attrs().get<std::string>(attr);
}

struct Dense {
  Graph g;
  Value x = input(g, {kAny, 3}, "x");
  Value w = input(g, {3, 4}, "w");
  Value b = input(g, {4}, "b");
  Value product = matmul(x, w);

  Subgraph step(std::vector<Value> ys) {
    return step_for({x, w, b}, std::move(ys));
  }
};

TEST(FuseEpilogues, ProductBiasAndActivation) {
  Dense d;
  Subgraph part = d.step({relu(bias_add(d.product, d.b))});
  fuse_epilogues(part);
  ASSERT_THAT(ops(part), ElementsAre("FusedMatMul"));
  EXPECT_EQ(text(*part.fetches[0].node, "activation"), "Relu");
  EXPECT_EQ(part.fetches[0].shape().to_string(), "[?, 4]");
}

TEST(FuseEpilogues, ABiasThatIsAdded) {
  Dense d;
  Subgraph part = d.step({d.product + d.b});
  fuse_epilogues(part);
  EXPECT_THAT(ops(part), ElementsAre("FusedMatMul"));
}

TEST(FuseEpilogues, NotWhatIsBroadcastOtherwise) {
  Dense d;
  Value row = input(d.g, {1, 4}, "row");
  Value one = input(d.g, {1}, "one");
  Subgraph part =
      step_for({d.x, d.w, row, one}, {d.product + row, matmul(d.x, d.w) + one});
  fuse_epilogues(part);
  EXPECT_THAT(ops(part), Not(Contains("FusedMatMul")));
}

TEST(FuseEpilogues, KeepsWhatOthersNeed) {
  Dense d;
  Value sum = bias_add(d.product, d.b);
  // The gradient of gelu needs what goes into it.
  Subgraph part = d.step({gelu(sum, true), tanh(sum)});
  fuse_epilogues(part);
  EXPECT_THAT(ops(part),
              testing::UnorderedElementsAre("FusedMatMul", "Gelu", "Tanh"));
  Subgraph fetched = d.step({relu(sum), d.product});
  fuse_epilogues(fetched);
  EXPECT_THAT(ops(fetched), Not(Contains("FusedMatMul")));
}

TEST(FuseEpilogues, OtherTypesStayAsTheyAre) {
  Graph g;
  Value x = input(g, {2, 3}, "x", DType::kF64);
  Value w = input(g, {3, 4}, "w", DType::kF64);
  Value b = input(g, {4}, "b", DType::kF64);
  Subgraph part = step_for({x, w, b}, {bias_add(matmul(x, w), b)});
  fuse_epilogues(part);
  EXPECT_THAT(ops(part), ElementsAre("MatMul", "BiasAdd"));
}

TEST(FuseEpilogues, Convolutions) {
  Graph g;
  Value x = input(g, {1, 8, 8, 3}, "x");
  Value w = input(g, {3, 3, 3, 5}, "w");
  Value b = input(g, {5}, "b");
  Subgraph part =
      step_for({x, w, b}, {leaky_relu(bias_add(conv2d(x, w), b), 0.3)});
  fuse_epilogues(part);
  ASSERT_THAT(ops(part), ElementsAre("FusedConv2D"));
  EXPECT_EQ(text(*part.fetches[0].node, "activation"), "LeakyRelu");
  EXPECT_EQ(part.fetches[0].node->attrs().get<double>("alpha"), 0.3);
}

TEST(FuseChains, OneLineForEachOperation) {
  Graph g;
  Value x = input(g, {2, 3}, "x");
  Value y = input(g, {3}, "y");
  Subgraph part = step_for({x, y}, {relu(x * y) - exp(x)});
  fuse_chains(part);
  ASSERT_THAT(ops(part), ElementsAre("FusedElementwise"));
  EXPECT_EQ(text(*part.fetches[0].node, "program"),
            "Exp x0; Mul x0 x1; Relu t1; Sub t2 t0");
}

TEST(FuseChains, ListsAndSlopes) {
  Graph g;
  Value x = input(g, {2}, "x");
  Value y = input(g, {2}, "y");
  Value sum = make("AddN", {x, y, x});
  Subgraph part = step_for({x, y}, {leaky_relu(sum, 0.25)});
  fuse_chains(part);
  ASSERT_THAT(ops(part), ElementsAre("FusedElementwise"));
  EXPECT_EQ(text(*part.fetches[0].node, "program"),
            "Add x0 x1; Add t0 x0; LeakyRelu:0.25 t1");
}

TEST(FuseChains, KeepsWhatOthersNeed) {
  Graph g;
  Value x = input(g, {2}, "x");
  Value middle = exp(x);
  Subgraph part = step_for({x}, {tanh(middle), middle});
  fuse_chains(part);
  EXPECT_THAT(ops(part), ElementsAre("Exp", "Tanh"));
}

TEST(FuseChains, SmallerResultsAreComputedOnce) {
  Graph g;
  Value x = input(g, {1000, 4}, "x");
  Value y = input(g, {4}, "y");
  Subgraph part = step_for({x, y}, {x * exp(y)});
  fuse_chains(part);
  EXPECT_THAT(ops(part), ElementsAre("Exp", "Mul"));
}

TEST(FuseChains, LongOnesAreCut) {
  Graph g;
  Value x = input(g, {2}, "x");
  Value y = x;
  for (int i = 0; i < 40; ++i) y = tanh(y);
  Subgraph part = step_for({x}, {y});
  fuse_chains(part);
  EXPECT_THAT(ops(part), ElementsAre("FusedElementwise", "FusedElementwise",
                                     "FusedElementwise"));
}

TEST(FuseChains, WhatWaitsStays) {
  Graph g;
  Value x = input(g, {2}, "x");
  Value first = exp(x);
  Value y;
  {
    const ControlScope after(g, {first.node});
    y = tanh(x);
  }
  Subgraph part = step_for({x}, {relu(y)});
  fuse_chains(part);
  EXPECT_THAT(ops(part), testing::UnorderedElementsAre("Exp", "Tanh", "Relu"));
}

struct Weight {
  Graph g;
  std::vector<Value> a, b, feeds;

  explicit Weight(int steps, int64_t batch = 5) {
    for (int i = 0; i < steps; ++i) {
      a.push_back(input(g, {batch, 30}, "a"));
      b.push_back(input(g, {batch, 40}, "b"));
    }
    feeds = a;
    feeds.insert(feeds.end(), b.begin(), b.end());
  }
  // Of the products in the order of `at`.
  Value sum(const std::vector<size_t>& at) const {
    std::vector<Value> products;
    for (size_t i : at)
      products.push_back(matmul(a[i], b[i], {.transpose_a = true}));
    return add_n(products);
  }
};

TEST(JoinProducts, OneProductOfWhatIsBelowEachOther) {
  Weight w(4);
  Subgraph part = step_for(w.feeds, {w.sum({0, 1, 2, 3})});
  join_products(part);
  EXPECT_THAT(ops(part), ElementsAre("Concat", "Concat", "MatMul"));
  EXPECT_EQ(part.fetches[0].shape().to_string(), "[30, 40]");
}

TEST(JoinProducts, TakesWhatIsStackedAlreadyInItsOrder) {
  Weight w(4);
  Subgraph part = step_for(
      w.feeds, {w.sum({3, 2, 0, 1}), stack({w.b[0], w.b[1], w.b[2], w.b[3]})});
  join_products(part);
  EXPECT_THAT(ops(part), UnorderedElementsAre("Concat", "Stack", "Const",
                                              "Reshape", "MatMul"));
  const Node& below = *part.fetches[0].node->input(0).node;
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(below.input(i), part.feeds[static_cast<size_t>(i)]);
}

TEST(JoinProducts, LeavesOtherTermsInTheSum) {
  Weight w(4);
  const Value other = input(w.g, {30, 40}, "other");
  Value sum = w.sum({0, 1, 2, 3});
  std::vector<Value> terms = sum.node->inputs();
  terms.push_back(other);
  w.feeds.push_back(other);
  Subgraph part = step_for(w.feeds, {add_n(terms)});
  join_products(part);
  EXPECT_THAT(ops(part), ElementsAre("Concat", "Concat", "MatMul", "AddN"));
}

TEST(JoinProducts, NotWhereItDoesNotPay) {
  Weight few(3);
  Subgraph three = step_for(few.feeds, {few.sum({0, 1, 2})});
  join_products(three);
  EXPECT_THAT(ops(three), Contains("AddN"));
  // More would be copied than is added up.
  Weight tall(4, 1000);
  Subgraph copies = step_for(tall.feeds, {tall.sum({0, 1, 2, 3})});
  join_products(copies);
  EXPECT_THAT(ops(copies), Contains("AddN"));
  // Somebody needs one of the products.
  Weight w(4);
  const Value sum = w.sum({0, 1, 2, 3});
  Subgraph needed = step_for(w.feeds, {sum, sum.node->input(0)});
  join_products(needed);
  EXPECT_THAT(ops(needed), Contains("AddN"));
}

// The gradients of a layer with a pool behind it.
struct Pooled {
  Graph g;
  Value x = input(g, {2, 8, 8, 3}, "x");
  Value b = input(g, {3}, "b");
  Value y = relu(bias_add(x, b));
  Value sum = reduce_sum(max_pool(y, halves()));

  static PoolOptions halves() {
    PoolOptions options;
    options.strides = {2, 2};
    return options;
  }
  std::vector<Value> grads(std::vector<Value> xs) const {
    return dense_gradients({{sum}}, xs);
  }
  Subgraph step(std::vector<Value> ys) {
    return step_for({x, b}, std::move(ys));
  }
};

TEST(ShrinkPoolGradients, MaskAndSumBeforeTheyAreSpread) {
  Pooled p;
  Subgraph part = p.step(p.grads({p.x, p.b}));
  shrink_pool_gradients(part);
  const Node& spread = *part.fetches[0].node;
  EXPECT_EQ(spread.op().name, "MaxPoolGrad");
  const Value small = spread.input(2);
  EXPECT_EQ(small.node->op().name, "ReluGrad");
  EXPECT_EQ(small.shape().to_string(), "[2, 4, 4, 3]");
  EXPECT_EQ(part.fetches[1].node->op().name, "BiasAddGrad");
  EXPECT_EQ(part.fetches[1].node->input(0), small);
}

TEST(ShrinkPoolGradients, NotWhereSomebodyNeedsTheWhole) {
  Pooled p;
  Subgraph part = p.step(p.grads({p.x, p.y}));
  share_common(part);
  const std::vector<std::string> before = ops(part);
  shrink_pool_gradients(part);
  EXPECT_EQ(ops(part), before);
}

TEST(ShrinkPoolGradients, NotOfAnotherPool) {
  Pooled p;
  const Value other = input(p.g, {2, 8, 8, 3}, "other");
  const Value grad = p.grads({p.y})[0];
  Subgraph part =
      step_for({p.x, p.b, other}, {make("ReluGrad", {grad, other})});
  shrink_pool_gradients(part);
  EXPECT_EQ(part.fetches[0].node->op().name, "ReluGrad");
}

}  // namespace
}  // namespace rondo
