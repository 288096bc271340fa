#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/runtime/gradient_coverage.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Numbers between low and high, at least 0.01 from zero, at which some
// functions have a corner.
Tensor numbers(const Shape& shape, double low, double high, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> any(low, high);
  Tensor t = Tensor::empty(shape, DType::kF64);
  for (double& x : t.span<double>()) do
      x = any(generator);
    while (std::abs(x) < 0.01);
  return t;
}

Value input(Graph& g, PartialShape shape, DType dtype = DType::kF64) {
  return placeholder(g, {.dtype = dtype, .shape = std::move(shape)});
}

struct UnaryCase {
  std::string name;
  std::function<Value(Value)> build;
  double low = -3;
  double high = 3;
};

std::vector<UnaryCase> unary_cases() {
  return {
      {"neg", [](Value x) { return neg(x); }},
      {"abs", [](Value x) { return abs(x); }},
      {"exp", [](Value x) { return exp(x); }},
      {"log", [](Value x) { return log(x); }, 0.2, 4},
      {"log1p", [](Value x) { return log1p(x); }, -0.7, 4},
      {"sqrt", [](Value x) { return sqrt(x); }, 0.2, 4},
      {"rsqrt", [](Value x) { return rsqrt(x); }, 0.2, 4},
      {"square", [](Value x) { return square(x); }},
      {"sin", [](Value x) { return sin(x); }},
      {"cos", [](Value x) { return cos(x); }},
      {"tanh", [](Value x) { return tanh(x); }},
      {"sigmoid", [](Value x) { return sigmoid(x); }},
      {"relu", [](Value x) { return relu(x); }},
      {"leaky_relu", [](Value x) { return leaky_relu(x, 0.3); }},
      {"elu", [](Value x) { return elu(x, 1.5); }},
      {"gelu", [](Value x) { return gelu(x); }},
      {"gelu_tanh", [](Value x) { return gelu(x, true); }},
      {"softplus", [](Value x) { return softplus(x); }},
      {"check_numerics", [](Value x) { return check_numerics(x, "x"); }},
      {"clip", [](Value x) { return clip_by_value(x, -1, 1.5); }},
      {"pow2", [](Value x) { return pow(x, scalar_like(x, 2)); }},
      {"pow3", [](Value x) { return pow(x, scalar_like(x, 3)); }},
      {"scalars", [](Value x) { return 2 - (1 / (x + 8)) * 3 - x / 4 + 1; }},
  };
}

TEST(ElementwiseOps, UnaryGradients) {
  for (const UnaryCase& test : unary_cases())
    for (const Shape& shape :
         {Shape{}, Shape{7}, Shape{2, 0}, Shape{2, 3, 2}}) {
      for (const bool known : {true, false}) {
        Graph g;
        Value x = input(g, known ? PartialShape(shape) : PartialShape());
        const auto check = check_and_record(
            test.build(x), {{x, numbers(shape, test.low, test.high, 3)}});
        EXPECT_LT(check.worst, 1e-6) << test.name << " " << check.where;
      }
    }
}

TEST(ElementwiseOps, SecondDerivatives) {
  for (const UnaryCase& test : unary_cases()) {
    Graph g;
    Value x = input(g, {5});
    const Value ys[] = {test.build(x)};
    const Value xs[] = {x};
    const Value first = dense_gradients(ys, xs)[0];
    const auto check =
        check_and_record(first, {{x, numbers({5}, test.low, test.high, 5)}});
    EXPECT_LT(check.worst, 1e-6) << test.name << " " << check.where;
  }
}

struct BinaryCase {
  std::string name;
  std::function<Value(Value, Value)> build;
  double low = -3;  // of x
};

TEST(ElementwiseOps, BinaryGradients) {
  const std::vector<BinaryCase> cases = {
      {"add", add},
      {"sub", sub},
      {"mul", mul},
      {"div", div},
      {"mod", mod},
      {"pow", pow, 0.2},
      {"maximum", maximum},
      {"minimum", minimum},
      {"squared_difference", squared_difference},
      {"select",
       [](Value x, Value y) { return select(greater(x, y), x * 3, y); }},
      {"clip", [](Value x, Value y) { return clip_by_value(x, y, y + 1); }},
  };
  const std::pair<Shape, Shape> shapes[] = {{{}, {}},
                                            {{4}, {4}},
                                            {{4}, {}},
                                            {{}, {2, 3}},
                                            {{2, 3}, {3}},
                                            {{2, 1}, {1, 3}},
                                            {{2, 3, 4}, {3, 1}},
                                            {{1, 3, 1}, {2, 1, 2}},
                                            {{0, 3}, {3}}};
  for (const BinaryCase& test : cases)
    for (const auto& [x_shape, y_shape] : shapes)
      for (const bool known : {true, false}) {
        Graph g;
        Value x = input(g, known ? PartialShape(x_shape) : PartialShape());
        Value y = input(g, known ? PartialShape(y_shape)
                                 : PartialShape::of_rank(y_shape.rank()));
        const auto check = check_and_record(
            test.build(x, y), {{x, numbers(x_shape, test.low, 3, 1)},
                               {y, numbers(y_shape, 0.5, 2.5, 2)}});
        EXPECT_LT(check.worst, 1e-6)
            << test.name << x_shape.to_string() << y_shape.to_string() << " "
            << check.where;
      }
}

TEST(ElementwiseOps, GradientsOfListsAndSelect) {
  Graph g;
  Value x = input(g, {2, 3});
  Value y = input(g, {2, 3});
  Value is = input(g, {2, 1}, DType::kBool);
  const Tensor mask = Tensor::of<bool>({2, 1}, std::array{true, false});
  const std::vector<Feed> at = {{x, numbers({2, 3}, -2, 2, 1)},
                                {y, numbers({2, 3}, -2, 2, 2)},
                                {is, mask}};
  auto check = check_and_record(add_n({x, y, x * y}), at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
  check = check_and_record(select(is, x, y), at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
  check = check_and_record(sum_to(x * y, constant_ints(g, {1, 3})), at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
  check = check_and_record(square(sum_to(x, constant_ints(g, {2, 1}))), at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
  const Value row = sum_to(x, constant_ints(g, {1, 3}));
  check = check_and_record(
      make("SumToGrad", {square(row), constant_ints(g, {2, 3})}), at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

TEST(ElementwiseOps, GradientOfCast) {
  Graph g;
  Value x = input(g, {2, 3});
  const std::vector<Feed> at = {{x, numbers({2, 3}, -2, 2, 1)}};
  auto check =
      check_and_record(make("Cast", {square(x)}, {{"dtype", DType::kF64}}), at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
  // Differences of f32 are not as precise.
  check = check_and_record(cast(cast(x, DType::kF32), DType::kF64) * x, at);
  EXPECT_LT(check.worst, 0.05) << check.where;
}

template <class T>
Tensor vec(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<int64_t>(values.size())},
                       std::span<const T>(values));
}

TEST(ElementwiseOps, IntegersDivideAndWrap) {
  Graph g;
  Value x = constant(g, vec<int32_t>({7, -7, 7, -7, INT32_MIN}));
  Value y = constant(g, vec<int32_t>({2, 2, -2, -2, -1}));
  Session session(g);
  EXPECT_THAT(session.run(x / y).value().span<int32_t>(),
              ElementsAre(3, -3, -3, 3, INT32_MIN));
  EXPECT_THAT(session.run(floor_div(x, y)).value().span<int32_t>(),
              ElementsAre(3, -4, -4, 3, INT32_MIN));
  EXPECT_THAT(session.run(mod(x, y)).value().span<int32_t>(),
              ElementsAre(1, 1, -1, -1, 0));
  EXPECT_THAT(session.run(x - 8).value().span<int32_t>(),
              ElementsAre(-1, -15, -1, -15, INT32_MAX - 7));
  EXPECT_THAT(session.run(abs(x)).value().span<int32_t>(),
              ElementsAre(7, 7, 7, 7, INT32_MIN));
}

TEST(ElementwiseOps, IntegersThatCannotBeDivided) {
  Graph g;
  Value x = constant(g, vec<int64_t>({4, 5}));
  Value zero = constant(g, vec<int64_t>({1, 0}));
  Value minus = constant(g, vec<int64_t>({1, -2}));
  Session session(g);
  for (const Value& bad : {x / zero, floor_div(x, zero), mod(x, zero)}) {
    const auto result = session.run(bad);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.status().message(),
                HasSubstr("division of integers by zero: element 1 of y is 0"));
    EXPECT_THAT(result.status().message(), HasSubstr(bad.node->name()));
  }
  const auto power = session.run(pow(x, minus));
  EXPECT_THAT(power.status().message(), HasSubstr("element 1 of y is -2"));
  EXPECT_TRUE(session.run(x / x).ok());
}

TEST(ElementwiseOps, CheckNumericsNamesTheNode) {
  Graph g;
  Value x = input(g, {}, DType::kF32);
  Value y = check_numerics(x, "the loss");
  Session session(g);
  EXPECT_TRUE(session.run(y, {{x, Tensor::full({3}, 1.0f)}}).ok());
  const auto bad = session.run(y, {{x, vec<float>({1, NAN, INFINITY})}});
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.status().message(), HasSubstr("CheckNumerics"));
  EXPECT_THAT(bad.status().message(),
              HasSubstr("the loss: 1 of 3 elements are NaN and 1 infinite"));
}

TEST(ElementwiseOps, WrongInputsAreRefusedWhereTheyAreBuilt) {
  Graph g;
  Value x = input(g, {2, 3});
  Value y = input(g, {4});
  EXPECT_THROW(x + y, Error);
  EXPECT_THROW(x + input(g, {3}, DType::kF32), Error);
  EXPECT_THROW(exp(input(g, {3}, DType::kI32)), Error);
  EXPECT_THROW(sum_to(x, constant_ints(g, {4})), Error);
  EXPECT_THROW(logical_and(x, x), Error);
  // Shapes that turn out not to fit.
  Value u = input(g, {});
  Session session(g);
  const auto result = session.run(input(g, {}) + u);
  EXPECT_FALSE(result.ok());
  Value v = placeholder(g, {.dtype = DType::kF64});
  const auto misfit =
      session.run(v * x, {{v, Tensor::zeros({5}, DType::kF64)},
                          {x, Tensor::zeros({2, 3}, DType::kF64)}});
  EXPECT_THAT(misfit.status().message(), HasSubstr("[5], [2, 3]"));
}

TEST(ElementwiseOps, InputsThatAreStillNeededStay) {
  Graph g;
  Value x = constant(g, vec<float>({1, -2, 3}));
  Session session(g);
  Value y = x + 1;
  Value z = relu(y);
  const auto both = session.run({neg(y), z, y}, {}).value();
  EXPECT_THAT(both[0].span<float>(), ElementsAre(-2, 1, -4));
  EXPECT_THAT(both[1].span<float>(), ElementsAre(2, 0, 4));
  EXPECT_THAT(both[2].span<float>(), ElementsAre(2, -1, 4));
}

TEST(ElementwiseOps, LongListsAddInOrder) {
  Graph g;
  std::vector<Value> values;
  for (int i = 0; i < 40; ++i)
    values.push_back(neg(constant(g, -i, DType::kF32)));
  Session session(g);
  EXPECT_EQ(session.run(add_n(values)).value().span<float>()[0], 780);
}

}  // namespace
}  // namespace rondo
