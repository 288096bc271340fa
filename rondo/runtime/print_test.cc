#include "rondo/graph/ops/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/runtime/gradient_coverage.h"

namespace rondo {
namespace {

using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStderr;
using testing::internal::GetCapturedStdout;

Tensor numbers(const Shape& shape) {
  Tensor t = Tensor::empty(shape, DType::kI32);
  int32_t next = 0;
  for (int32_t& x : t.span<int32_t>()) x = next++;
  return t;
}

Node& line(Graph& g, const std::vector<Value>& data, Attrs attrs) {
  return g.add({.op = "PrintLine", .inputs = data, .attrs = std::move(attrs)});
}

TEST(Print, PassesGradientsOn) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = {3}});
  Value y = exp(print(x, {x}));
  CaptureStderr();
  const GradientCheck check =
      check_and_record(y, {{x, Tensor::full({3}, 0.25)}});
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("0.25"));
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

TEST(Print, PrintsAndPassesOn) {
  Graph g;
  Value x = constant(g, numbers({2, 3}));
  Value y = print(x, {x, constant(g, 0.5, DType::kF32)},
                  {.message = "x: ", .first_n = 2});
  Value all = print(x, {x}, {.summarize = -1});
  Session session(g);
  CaptureStderr();
  for (int i = 0; i < 4; ++i) {
    const Tensor out = session.run(y).value();
    EXPECT_EQ(out.to_string(), numbers({2, 3}).to_string());
  }
  EXPECT_EQ(GetCapturedStderr(), "x: [0 1 2...][0.5]\nx: [0 1 2...][0.5]\n");
  CaptureStderr();
  session.run(all).value();
  EXPECT_EQ(GetCapturedStderr(), "[0 1 2 3 4 5]\n");
}

TEST(Print, GradientsPassThrough) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  Value y = print(x, {x});
  const std::vector<Value> grads = dense_gradients({{y}}, {{x}});
  Session session(g);
  CaptureStderr();
  const Tensor dx = session.run(grads[0], {{x, Tensor::zeros({2})}}).value();
  (void)GetCapturedStderr();
  EXPECT_EQ(dx.to_string(), "f32[2] 1 1");
}

TEST(Print, LinesOfTextsAndTensors) {
  Graph g;
  using Texts = std::vector<std::string>;
  Value x = constant(g, numbers({2, 9}));
  Value s = constant(g, 7, DType::kU8);
  Value yes = constant(g, Tensor::full<bool>({1}, true));
  Node& node = line(g, {x, s, yes},
                    {{"texts", Texts{"x = ", ", s = ", " ", "!\n"}},
                     {"summarize", int64_t{2}}});
  Node& out = line(g, {},
                   {{"texts", Texts{"only text\n"}},
                    {"output_stream", std::string("stdout")}});
  Session session(g);
  CaptureStderr();
  session.run(node).value();
  EXPECT_EQ(GetCapturedStderr(),
            "x = [[0 1 ... 7 8]\n [9 10 ... 16 17]], s = 7 [true]!\n");
  CaptureStdout();
  session.run(out).value();
  EXPECT_EQ(GetCapturedStdout(), "only text\n");
  EXPECT_THROW(line(g, {}, {{"output_stream", std::string("file")}}), Error);
  EXPECT_THROW(line(g, {}, {{"texts", Texts{"a", "b"}}}), Error);
}

TEST(Assert, FailsTheRunWithMessageDataAndNode) {
  Graph g;
  Value ok = placeholder(g, {.dtype = DType::kBool, .shape = {}});
  Value x = constant(g, numbers({5}));
  Node& check = assert_that(ok, {x}, {.message = "x is bad:", .summarize = 2});
  Session session(g);
  session.run(check, {{ok, Tensor::full<bool>(Shape{}, true)}}).value();
  const Status failed =
      session.run(check, {{ok, Tensor::full<bool>(Shape{}, false)}});
  EXPECT_EQ(failed.code(), Code::kInvalidArgument);
  EXPECT_EQ(failed.message(),
            "Assert \"Assert\": assertion failed: x is bad: [0 1...]");
  session.run(check, {{ok, Tensor::full<bool>(Shape{}, true)}}).value();
}

TEST(Assert, WantsAScalar) {
  Graph g;
  Value many = placeholder(g, {.dtype = DType::kBool, .shape = {2}});
  EXPECT_THROW(assert_that(many, {}), Error);
  EXPECT_THROW(assert_that(Value(), {}), Error);
  Value any = placeholder(g, {.dtype = DType::kBool, .shape = PartialShape()});
  Node& check = assert_that(any, {});
  Session session(g);
  const Status failed =
      session.run(check, {{any, Tensor::full<bool>({2}, true)}});
  EXPECT_THAT(failed.message(),
              HasSubstr("condition has shape [2], expected a scalar"));
}

}  // namespace
}  // namespace rondo
