// Gradients of gradients, where an operation does the first in one pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/runtime/gradient_coverage.h"
#include "rondo/runtime/test_numbers.h"

namespace rondo {
namespace {

using testing::HasSubstr;

class SecondDerivatives : public testing::Test {
 protected:
  Value input(const Shape& shape, double low = -1, double high = 1) {
    const Value x = placeholder(g, {.dtype = DType::kF64, .shape = shape});
    at.push_back(
        {x, numbers(shape, static_cast<unsigned>(at.size()) + 1, low, high)});
    return x;
  }

  // Each first derivative, by what it is of and by the gradient that comes in.
  void expect_right(Value y) {
    std::vector<Value> xs;
    for (const Feed& feed : at) xs.push_back(feed.value);
    const Shape shape = Session(g).run(y, at).value().shape();
    auto all = at;
    all.push_back({placeholder(g, {.dtype = DType::kF64, .shape = shape}),
                   numbers(shape, 99)});
    const Value ys[] = {y};
    const Value grad_ys[] = {all.back().value};
    for (const Gradient& first : gradients(ys, xs, grad_ys)) {
      if (!first) continue;
      const auto check = check_and_record(to_dense(first), all);
      EXPECT_LT(check.worst, 1e-6) << check.where;
    }
  }

  Graph g;
  std::vector<Feed> at;
};

TEST_F(SecondDerivatives, OfProductsAndBiases) {
  const Value x = input({3, 4}), w = input({4, 2}), b = input({2});
  expect_right(tanh(bias_add(matmul(x, w), b)));
}

TEST_F(SecondDerivatives, OfBiasesOfImages) {
  const Value x = input({2, 3, 2, 2}), b = input({3});
  expect_right(square(bias_add(x, b, "NCHW")));
}

TEST_F(SecondDerivatives, OfSoftmax) {
  const Value x = input({3, 4, 2});
  for (const int64_t axis : {-1, 1}) {
    expect_right(softmax(x, axis));
    expect_right(log_softmax(x, axis));
  }
}

TEST_F(SecondDerivatives, OfSoftmaxLosses) {
  const Value logits = input({3, 4}, -2, 2), labels = input({3, 4}, 0, 1);
  expect_right(softmax_cross_entropy_with_logits(logits, labels));
}

TEST_F(SecondDerivatives, OfSparseSoftmaxLosses) {
  const Value logits = input({3, 4}, -2, 2);
  const Value labels =
      constant(g, Tensor::of<int32_t>({3}, std::vector<int32_t>{0, 3, 1}));
  expect_right(sparse_softmax_cross_entropy_with_logits(logits, labels));
}

TEST_F(SecondDerivatives, OfSigmoidLosses) {
  const Value logits = input({3, 4}, -2, 2), labels = input({3, 4}, 0, 1);
  expect_right(sigmoid_cross_entropy_with_logits(logits, labels));
}

TEST_F(SecondDerivatives, OfLayerNorm) {
  const Value x = input({2, 3, 5}), scale = input({5}), offset = input({5});
  expect_right(layer_norm(x, scale, offset, 1e-3));
}

TEST_F(SecondDerivatives, OfBatchNormInTraining) {
  for (const std::string format : {"NHWC", "NCHW"}) {
    at.clear();
    const Value x = input(format == "NHWC" ? Shape{4, 2, 3} : Shape{4, 3, 2});
    const Value scale = input({3}), offset = input({3});
    expect_right(
        fused_batch_norm({x, scale, offset}, {.data_format = format}).y);
  }
}

TEST_F(SecondDerivatives, OfBatchNormByGivenMoments) {
  const Value x = input({4, 2, 3}), scale = input({3}), offset = input({3});
  const Value mean = input({3}), variance = input({3}, 0.5, 1.5);
  expect_right(fused_batch_norm({x, scale, offset, mean, variance},
                                {.is_training = false})
                   .y);
}

TEST_F(SecondDerivatives, OfLrn) {
  const Value x = input({2, 3, 6});
  expect_right(
      lrn(x, {.depth_radius = 2, .bias = 1.5, .alpha = 0.7, .beta = 0.6}));
}

TEST_F(SecondDerivatives, OfLstmCells) {
  const Value x = input({2, 12}), h = input({2, 12}), c = input({2, 3});
  Node& cell = g.add({.op = "LSTMGates", .inputs = {x, h, c}});
  expect_right(cell.output(0) * cell.output(1));
}

TEST_F(SecondDerivatives, OfGruCells) {
  const Value x = input({2, 9}), h = input({2, 9}), state = input({2, 3});
  expect_right(make("GRUGates", {x, h, state}));
}

TEST_F(SecondDerivatives, OfDeterminantsAndCholesky) {
  const Value x = input({2, 3, 3});
  const Value definite = batch_matmul(x, x, false, true) +
                         matrix_diag(fill(g, {2, 3}, 1.5, DType::kF64));
  expect_right(matrix_determinant(definite));
  expect_right(cholesky(definite));
}

TEST_F(SecondDerivatives, OfProductsOfElements) {
  const Value x = input({2, 3, 2});
  expect_right(reduce_prod(x));
  for (const bool keep : {false, true}) {
    expect_right(reduce_prod(x, {{1}, keep}));
    expect_right(reduce_prod(x, {{0, -1}, keep}));
  }
}

TEST_F(SecondDerivatives, OfProductsWithZeros) {
  const Value x = input({3, 3});
  // None, one and two in a row.
  auto elements = at[0].tensor.span<double>();
  elements[4] = elements[6] = elements[8] = 0;
  expect_right(reduce_prod(x, {{1}}));
}

TEST_F(SecondDerivatives, OfProductsOfUnknownLengthAreAClearError) {
  const Value x = placeholder(g, {.shape = {kAny}});
  const Value ys[] = {reduce_prod(x)}, xs[] = {x};
  const auto first = dense_gradients(ys, xs);
  try {
    gradients(first, xs);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("how many elements it has"));
  }
}

}  // namespace
}  // namespace rondo
