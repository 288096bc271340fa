#include "rondo/trainer/not_finite_origin.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

// log(x * w), of which w is 2; another value overflows beside it.
struct Chain {
  Graph graph;
  Value x = placeholder(graph, {.shape = {2}, .name = "x"});
  Value w = variable(graph, constant(graph, 2.0, DType::kF32), {.name = "w"});
  Value beside = exp(x * constant(graph, 1000.0, DType::kF32));
  Value product = x * w;
  Value root = make("Log", {product}, {}, "root");
  Value loss = reduce_mean(root);
  Session session{graph};

  Chain() { session.run(initializer(graph)).value(); }
  std::string first(float one) {
    Tensor fed = Tensor::full({2}, 1.0F);
    fed.span<float>()[1] = one;
    const Node* found = not_finite_origin(session, loss, {{x, fed}}).value();
    return found == nullptr ? "none" : found->name();
  }
};

TEST(NotFiniteOrigin, IsTheNodeAndNotThoseThatTakeItsNumbers) {
  Chain chain;
  EXPECT_EQ(chain.first(3), "none");
  EXPECT_EQ(chain.first(0), "root");
  EXPECT_EQ(chain.first(-1), "root");
  EXPECT_EQ(chain.first(3e38F), chain.product.node->name());
}

TEST(NotFiniteOrigin, MayBeWhatIsFedOrAVariable) {
  Chain chain;
  EXPECT_EQ(chain.first(std::numeric_limits<float>::infinity()), "x");
  const Tensor none = Tensor::full({}, std::nanf(""));
  chain.session.run(*assign(chain.w, constant(chain.graph, none)).node).value();
  EXPECT_EQ(chain.first(3), "w");
}

// softmax(log(x) of which the upper triangle is -infinity) * y.
TEST(NotFiniteOrigin, IsNoMaskWhoseInfinityIsMeant) {
  Graph graph;
  const Value x = placeholder(graph, {.shape = {2, 2}, .name = "x"});
  const Value y = placeholder(graph, {.shape = {2, 2}, .name = "y"});
  const Value scores = make("Log", {x}, {}, "scores");
  const double minus = -std::numeric_limits<double>::infinity();
  const Value mask = matrix_band_part(scores, {.num_upper = 0, .fill = minus});
  const Value product = softmax(mask) * y;
  const Value loss = reduce_mean(make("Log", {product + 1e-3F}, {}, "logs"));
  Session session{graph};
  const auto first = [&](float in_x, float in_y) {
    const Node* found = not_finite_origin(session, loss,
                                          {{x, Tensor::full({2, 2}, in_x)},
                                           {y, Tensor::full({2, 2}, in_y)}})
                            .value();
    return found == nullptr ? "none" : found->name();
  };
  EXPECT_EQ(first(1, 1), "none");
  EXPECT_EQ(first(1, -1), "logs");
  EXPECT_EQ(first(-1, 1), "scores");
}

}  // namespace
}  // namespace rondo
