#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/runtime/gradient_coverage.h"
#include "rondo/runtime/test_numbers.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Square matrices far from singular.
Tensor regular(const Shape& shape, unsigned seed) {
  Tensor t = numbers(shape, seed);
  const int64_t n = shape[shape.rank() - 1];
  for (int64_t i = 0; i < t.count(); ++i)
    if (i % (n * n) % (n + 1) == 0)
      t.span<double>()[static_cast<size_t>(i)] += 3;
  return t;
}

Value input(Graph& g, PartialShape shape) {
  return placeholder(g, {.dtype = DType::kF64, .shape = std::move(shape)});
}

Tensor f32(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, values);
}

void expect_gradient(Value y, const std::vector<Feed>& at) {
  const GradientCheck check = check_and_record(y, at);
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

TEST(MatrixOps, MatMulByHand) {
  Graph g;
  const Value a = constant(g, f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Value b = constant(g, f32({3, 2}, {1, 0, 0, 1, 1, 1}));
  Session session(g);
  const Tensor y = session.run(matmul(a, b)).value();
  EXPECT_THAT(y.span<float>(), ElementsAre(4, 5, 10, 11));
  const Tensor t = session.run(matmul(a, a, {.transpose_b = true})).value();
  EXPECT_THAT(t.span<float>(), ElementsAre(14, 32, 32, 77));
}

TEST(MatrixOps, MatMulOfIntegersAndNothing) {
  Graph g;
  const Value a =
      constant(g, Tensor::of<int8_t>({1, 2}, std::vector<int8_t>{100, 100}));
  const Value b =
      constant(g, Tensor::of<int8_t>({2, 1}, std::vector<int8_t>{1, 1}));
  Session session(g);
  EXPECT_THAT(session.run(matmul(a, b)).value().span<int8_t>(),
              ElementsAre(-56));  // wraps
  const Value none = constant(g, Tensor::zeros({2, 0}));
  const Tensor y =
      session.run(matmul(none, none, {.transpose_b = true})).value();
  EXPECT_THAT(y.span<float>(), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(
      session.run(matmul(none, none, {.transpose_a = true})).value().shape(),
      (Shape{0, 0}));
}

TEST(MatrixOps, BatchMatMulOfNoMatrices) {
  Graph g;
  const Value x = placeholder(g, {.shape = {kAny, 2, 3}});
  const Value w = constant(g, Tensor::zeros({3, 4}));
  const Value each = placeholder(g, {.shape = {kAny, 3, 4}});
  Session session(g);
  const std::vector<Feed> feeds = {{x, Tensor::zeros({0, 2, 3})},
                                   {each, Tensor::zeros({0, 3, 4})}};
  EXPECT_EQ(session.run(batch_matmul(x, w), feeds).value().shape(),
            (Shape{0, 2, 4}));
  EXPECT_EQ(session.run(batch_matmul(x, each), feeds).value().shape(),
            (Shape{0, 2, 4}));
}

TEST(MatrixOps, MatMulOf16Bits) {
  // Small integers, which both types hold and add up without rounding.
  for (const DType dtype : {DType::kBF16, DType::kF16})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        Graph g;
        const Shape shape{24, 24};
        Tensor values = Tensor::empty(shape);
        for (size_t i = 0; i < 576; ++i)
          values.span<float>()[i] = static_cast<float>(i * 7 % 5) - 2;
        const Value x = constant(g, values);
        const Value narrow = cast(x, dtype);
        const MatMulOptions options{.transpose_a = ta, .transpose_b = tb};
        Session session(g);
        const Tensor want = session.run(matmul(x, x, options)).value();
        const Tensor got =
            session.run(cast(matmul(narrow, narrow, options), DType::kF32))
                .value();
        EXPECT_TRUE(std::ranges::equal(want.span<float>(), got.span<float>()));
      }
}

TEST(MatrixOps, MatMulGradient) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const bool known : {false, true}) {
        const Shape sa = ta ? Shape{4, 3} : Shape{3, 4};
        const Shape sb = tb ? Shape{2, 4} : Shape{4, 2};
        Graph g;
        const Value a = input(g, known ? PartialShape(sa) : PartialShape());
        const Value b = input(g, known ? PartialShape(sb) : PartialShape());
        expect_gradient(matmul(a, b, {.transpose_a = ta, .transpose_b = tb}),
                        {{a, numbers(sa, 1)}, {b, numbers(sb, 2)}});
      }
}

TEST(MatrixOps, BatchMatMulGradient) {
  struct Case {
    Shape x, y;
    bool adj_x, adj_y;
  };
  const std::vector<Case> cases = {
      {{2, 3, 4}, {2, 4, 2}, false, false},
      {{2, 4, 3}, {2, 2, 4}, true, true},
      {{2, 1, 3, 4}, {3, 2, 4}, false, true},  // both broadcast
      {{3, 4}, {2, 4, 2}, false, false},
      {{2, 2, 3, 4}, {4, 2}, false, false},  // one right factor for all
      {{2, 4, 3}, {4, 2}, true, false},
      {{2, 0, 4}, {2, 4, 2}, false, false},
  };
  for (const Case& c : cases)
    for (const bool known : {false, true}) {
      Graph g;
      const Value x = input(g, known ? PartialShape(c.x) : PartialShape());
      const Value y = input(g, known ? PartialShape(c.y) : PartialShape());
      expect_gradient(batch_matmul(x, y, c.adj_x, c.adj_y),
                      {{x, numbers(c.x, 1)}, {y, numbers(c.y, 2)}});
    }
}

TEST(MatrixOps, SolversGradients) {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{2, 3, 3}}) {
    const Tensor at = regular(shape, 5);
    const int rank = shape.rank();
    Graph g;
    const Value x = input(g, PartialShape::of_rank(rank));
    for (const bool adjoint : {false, true})
      expect_gradient(matrix_inverse(x, adjoint), {{x, at}});
    expect_gradient(matrix_determinant(x), {{x, at}});
    Ints extents(shape.extents().begin(), shape.extents().end());
    extents.back() = 2;
    const Tensor right = numbers(Shape(extents), 6);
    const Value rhs = input(g, PartialShape());
    for (const bool adjoint : {false, true}) {
      expect_gradient(matrix_solve(x, rhs, adjoint), {{x, at}, {rhs, right}});
      for (const bool lower : {false, true})
        expect_gradient(matrix_triangular_solve(
                            x, rhs, {.lower = lower, .adjoint = adjoint}),
                        {{x, at}, {rhs, right}});
    }
    // Of a symmetric matrix made from x.
    expect_gradient(cholesky(batch_matmul(x, x, false, true)), {{x, at}});
  }
}

TEST(MatrixOps, DiagonalsGradients) {
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 2, 4}, Shape{1, 3, 2}}) {
    Graph g;
    const Value x = input(g, {});
    const Tensor at = numbers(shape, 3);
    expect_gradient(matrix_diag_part(x), {{x, at}});
    expect_gradient(matrix_diag(x), {{x, at}});
    expect_gradient(
        matrix_band_part(x, {.num_lower = 0, .num_upper = 1, .fill = 7}),
        {{x, at}});
    Ints extents(shape.extents().begin(), shape.extents().end() - 2);
    extents.push_back(
        std::min(shape[shape.rank() - 1], shape[shape.rank() - 2]));
    const Value diagonal = input(g, {});
    expect_gradient(matrix_set_diag(x, diagonal),
                    {{x, at}, {diagonal, numbers(Shape(extents), 4)}});
  }
}

TEST(MatrixOps, EinsumGradients) {
  struct Case {
    std::string equation;
    std::vector<Shape> shapes;
  };
  const std::vector<Case> cases = {
      {"ij,jk->ik", {{2, 3}, {3, 4}}},
      {"ij,jk", {{2, 3}, {3, 4}}},
      {"bqhd,bkhd->bhqk", {{2, 3, 2, 4}, {2, 2, 2, 4}}},
      {"ij->ji", {{2, 3}}},
      {"ii->i", {{3, 3}}},
      {"ii", {{3, 3}}},
      {"ijk->j", {{2, 3, 2}}},
      {"i,j->ij", {{2}, {3}}},
      {"ij,ij->", {{2, 3}, {2, 3}}},
      {"abcd,cdef->abef", {{2, 3, 2, 2}, {2, 2, 3, 2}}},
      {"...ij,jk->...ik", {{2, 2, 3, 2}, {2, 2}}},
      {"ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 2}}},
      {"...a,...a->...", {{2, 1, 3}, {2, 3}}},
  };
  for (const Case& c : cases)
    for (const bool known : {true, false}) {
      SCOPED_TRACE(c.equation);
      Graph g;
      std::vector<Value> values;
      std::vector<Feed> feeds;
      for (const Shape& shape : c.shapes) {
        values.push_back(input(g, known ? PartialShape(shape)
                                        : PartialShape::of_rank(shape.rank())));
        feeds.push_back({values.back(), numbers(shape, static_cast<unsigned>(
                                                           feeds.size() + 1))});
      }
      expect_gradient(einsum(c.equation, values), feeds);
    }
}

// Over every assignment of numbers to the labels, as the definition says. A
// label is a lower-case letter of extent 2 + its place in the alphabet % 2.
std::vector<double> einsum_by_definition(const std::vector<std::string>& terms,
                                         const std::string& output,
                                         const std::vector<Tensor>& operands) {
  std::string labels = output;
  for (const std::string& term : terms)
    for (const char label : term)
      if (labels.find(label) == std::string::npos) labels += label;
  const auto extent = [](char label) { return size_t{2} + (label - 'a') % 2; };
  size_t assignments = 1, results = 1;
  for (const char label : labels) assignments *= extent(label);
  for (const char label : output) results *= extent(label);
  std::vector<double> sums(results);
  for (size_t a = 0; a < assignments; ++a) {
    size_t number[128] = {}, rest = a;
    for (const char label : labels) {
      number[static_cast<size_t>(label)] = rest % extent(label);
      rest /= extent(label);
    }
    const auto place = [&](const std::string& term) {
      size_t at = 0;
      for (const char label : term)
        at = at * extent(label) + number[static_cast<size_t>(label)];
      return at;
    };
    double product = 1;
    for (size_t i = 0; i < terms.size(); ++i)
      product *= operands[i].span<double>()[place(terms[i])];
    sums[place(output)] += product;
  }
  return sums;
}

TEST(MatrixOps, EinsumByDefinition) {
  struct Case {
    std::vector<std::string> terms;
    std::string output;
  };
  const std::vector<Case> cases = {
      {{"ij", "jk"}, "ik"},
      {{"ij", "jk"}, "ki"},
      {{"ji", "kj"}, "ik"},
      {{"bqhd", "bkhd"}, "bhqk"},
      {{"ii"}, "i"},
      {{"ii"}, ""},
      {{"iji"}, "j"},
      {{"abcd", "dcef"}, "fbea"},
      {{"i", "j"}, "ji"},
      {{"ij", "ij"}, ""},
      {{"ij", "ij"}, "ij"},
      {{"ab", "bc", "cd", "a"}, "d"},
      {{"ab", "ac", "ad"}, "bcd"},
      {{"abc", "d"}, "cd"},
  };
  for (const Case& c : cases) {
    Graph g;
    std::string equation;
    std::vector<Value> values;
    std::vector<Tensor> tensors;
    for (const std::string& term : c.terms) {
      Ints shape;
      for (const char label : term) shape.push_back(2 + (label - 'a') % 2);
      tensors.push_back(
          numbers(Shape(shape), static_cast<unsigned>(tensors.size())));
      values.push_back(constant(g, tensors.back()));
      equation += (equation.empty() ? "" : ",") + term;
    }
    equation += "->" + c.output;
    SCOPED_TRACE(equation);
    Session session(g);
    const Tensor y = session.run(einsum(equation, values)).value();
    const auto want = einsum_by_definition(c.terms, c.output, tensors);
    ASSERT_EQ(y.shape().rank(), static_cast<int>(c.output.size()));
    ASSERT_EQ(y.span<double>().size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(y.span<double>()[i], want[i], 1e-12);
  }
}

TEST(MatrixOps, EinsumWithDotsAndWithoutArrow) {
  Graph g;
  const Value x = constant(g, numbers({2, 3, 4}, 1));
  const Value y = constant(g, numbers({4, 5}, 2));
  Session session(g);
  const Tensor want = session.run(matmul(x, y)).value();
  for (const char* equation : {"...ij,jk->...ik", "...ij,jk"}) {
    const Tensor got = session.run(einsum(equation, {x, y})).value();
    ASSERT_EQ(got.shape(), want.shape());
    for (size_t i = 0; i < want.span<double>().size(); ++i)
      EXPECT_NEAR(got.span<double>()[i], want.span<double>()[i], 1e-12);
  }
  // Labels in alphabetical order: the transpose.
  EXPECT_EQ(session.run(einsum("ba", {y})).value().shape(), (Shape{5, 4}));
}

std::string thrown(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

TEST(MatrixOps, WrongShapesAreRefusedWhileBuilding) {
  Graph g;
  const Value a = input(g, {2, 3});
  EXPECT_THAT(thrown([&] { matmul(a, a); }),
              HasSubstr("[2, 3] and [2, 3] cannot be multiplied: the first has "
                        "3 columns, the second 2 rows"));
  EXPECT_THAT(thrown([&] {
                batch_matmul(input(g, {2, 2, 3}), input(g, {3, 3, 2}));
              }),
              HasSubstr("do not broadcast"));
  EXPECT_THAT(thrown([&] { matrix_inverse(a); }), HasSubstr("square"));
  EXPECT_THAT(thrown([&] {
                matrix_solve(input(g, {2, 2}), input(g, {3, 1}));
              }),
              HasSubstr("expected [2, 1]"));
  EXPECT_THAT(thrown([&] { einsum("ij,jk->ik", {a}); }),
              HasSubstr("2 operands, but 1"));
  EXPECT_THAT(thrown([&] { einsum("ijk->i", {a}); }),
              HasSubstr("names 3 axes"));
  EXPECT_THAT(thrown([&] { einsum("ij->k", {a}); }),
              HasSubstr("'k' of the result is in no operand"));
}

TEST(MatrixOps, WrongDataIsRefusedWhileRunning) {
  Graph g;
  const Value a = input(g, {}), b = input(g, {});
  Session session(g);
  const auto message = [&](Value y, const Tensor& x, const Tensor& z) {
    auto result = session.run({y}, {{a, x}, {b, z}});
    return result.ok() ? "nothing" : result.status().message();
  };
  EXPECT_THAT(message(matmul(a, b), numbers({2, 3}, 1), numbers({2, 3}, 1)),
              HasSubstr("cannot be multiplied"));
  EXPECT_THAT(message(matmul(a, b), numbers({2}, 1), numbers({2, 3}, 1)),
              HasSubstr("not both matrices"));
  Tensor singular = regular({3, 2, 2}, 1);
  for (size_t i = 4; i < 8; ++i) singular.span<double>()[i] = 1;
  const Tensor rhs = numbers({3, 2, 1}, 1);
  EXPECT_THAT(message(matrix_inverse(a), singular, rhs),
              HasSubstr("matrix 1 of the batch of 3 is singular"));
  EXPECT_THAT(message(matrix_solve(a, b), singular, rhs),
              HasSubstr("matrix 1 of the batch of 3 is singular"));
  EXPECT_THAT(message(cholesky(a), singular, rhs),
              HasSubstr("matrix 1 of the batch of 3 is not positive definite"));
  EXPECT_THAT(
      message(matrix_inverse(a), Tensor::zeros({1, 1}, DType::kF64), rhs),
      HasSubstr("the matrix is singular"));
  // And the session goes on.
  EXPECT_EQ(message(matrix_determinant(a), singular, rhs), "nothing");
}

}  // namespace
}  // namespace rondo
