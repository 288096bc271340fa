#include "rondo/runtime/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/state.h"
#include "rondo/kernels/kernel_registry.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Session, FeedsAndFetches) {
  Graph g;
  Value x = placeholder(g, {.shape = {kAny, 2}, .name = "x"});
  Value y = reshape(x, {-1});
  Session session(g);
  Tensor in = Tensor::of<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  Tensor out = session.run(y, {{x, in}}).value();
  EXPECT_THAT(out.span<float>(), ElementsAre(1, 2, 3, 4));
  // The result is the caller's own.
  out.span<float>()[0] = 9;
  EXPECT_EQ(in.span<float>()[0], 1);
}

TEST(Session, VariablesLiveFromRunToRun) {
  Graph g;
  Value v = variable(g, constant(g, 5, DType::kF32), {.name = "v"});
  Value add = assign_add(v, constant(g, 2, DType::kF32));
  Session session(g);
  auto too_early = session.run(v);
  ASSERT_FALSE(too_early.ok());
  EXPECT_THAT(too_early.status().message(),
              HasSubstr("\"v\" has no value yet"));
  session.run(initializer(g)).value();
  EXPECT_EQ(session.run(add).value().span<float>()[0], 7);
  EXPECT_EQ(session.run(add).value().span<float>()[0], 9);
  EXPECT_EQ(session.run(v).value().span<float>()[0], 9);
}

TEST(Session, AChangeComesAfterTheReadsBeforeIt) {
  Graph g;
  Value v = variable(g, constant(g, 1, DType::kF32));
  Value old = reshape(v, {1});
  Value change = assign_add(v, constant(g, 1, DType::kF32));
  Session session(g);
  session.run(initializer(g)).value();
  for (int i = 0; i < 10; ++i) {
    auto both = session.run({change, old}, {}).value();
    EXPECT_EQ(both[1].span<float>()[0], static_cast<float>(i + 1));
    EXPECT_EQ(both[0].span<float>()[0], static_cast<float>(i + 2));
  }
}

TEST(Session, SaysWhatMustBeFed) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}, .name = "x"});
  Session session(g);
  auto missing = session.run(identity(x));
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.status().message(),
              HasSubstr("Placeholder \"x\" must be fed"));
  auto wrong_shape = session.run(identity(x), {{x, Tensor::zeros({3})}});
  EXPECT_THAT(wrong_shape.status().message(),
              HasSubstr("has shape [2], but was fed a tensor of shape [3]"));
  auto wrong_type =
      session.run(identity(x), {{x, Tensor::zeros({2}, DType::kI32)}});
  EXPECT_THAT(wrong_type.status().message(),
              HasSubstr("takes elements of f32, but was fed i32"));
  Tensor moved = Tensor::zeros({2});
  const Tensor kept = std::move(moved);
  auto nothing = session.run(identity(x), {{x, moved}});
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.status().message(), HasSubstr("has no memory"));
  EXPECT_TRUE(session.run(identity(x), {{x, kept}}).ok());
  Value any = placeholder(g, {.shape = {kAny}});
  const auto empty = session.run(identity(any), {{any, Tensor()}});
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  EXPECT_EQ(empty->shape(), Shape{0});
}

TEST(Session, WhatAKernelThrowsWhileConstantsAreFoldedNamesItsNode) {
  OpRegistry::process().add({.name = "TestThrowsAtOnce",
                             .doc = "For tests.",
                             .inputs = {{"x"}},
                             .outputs = {"y"},
                             .infer = [](InferContext& c) {
                               c.output(c.dtype(0), c.shape(0));
                               return Status();
                             }});
  KernelRegistry::process().add(
      "TestThrowsAtOnce", "cpu",
      from_function([](const Node&, KernelContext&) -> Status {
        throw std::runtime_error("out of luck");
      }));
  Graph g;
  Value y = make("TestThrowsAtOnce", {constant(g, 1, DType::kF32)}, {}, "bad");
  Session session(g);
  const auto got = session.run(y);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().message(), "TestThrowsAtOnce \"bad\": out of luck");
}

}  // namespace
}  // namespace rondo
