#include "rondo/graph/ops/host_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "rondo/graph/gradients.h"
#include "rondo/graph/graph_io.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/runtime/gradient_coverage.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<std::vector<Tensor>> twice(std::span<const Tensor> inputs) {
  Tensor y = inputs[0].clone();
  for (float& x : y.span<float>()) x *= 2;
  return std::vector<Tensor>{y};
}

TEST(HostCall, CallsAFunctionOfTheProgram) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  std::atomic<int> calls = 0;
  Value y = host_call(g,
                      [&](std::span<const Tensor> in) {
                        ++calls;
                        return twice(in);
                      },
                      {x}, {DType::kF32})[0];
  Session session(g);
  for (int i = 1; i <= 3; ++i) {
    const Tensor out =
        session.run(y, {{x, Tensor::full<float>({2}, 3)}}).value();
    EXPECT_EQ(out.to_string(), "f32[2] 6 6");
    EXPECT_EQ(calls, i);
  }
}

TEST(HostCall, SeveralOrNoResults) {
  Graph g;
  const auto both = host_call(
      g,
      [](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
        return std::vector<Tensor>{Tensor::zeros({2}),
                                   Tensor::zeros({0}, DType::kI64), Tensor()};
      },
      {}, {DType::kF32, DType::kI64, DType::kF32});
  bool ran = false;
  Node& none = [&]() -> Node& {
    (void)host_call(
        g,
        [&](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
          ran = true;
          return std::vector<Tensor>{};
        },
        {}, {}, "none");
    return *g.find("none");
  }();
  Session session(g);
  const auto got = session.run(both, {}).value();
  EXPECT_EQ(got[0].to_string(), "f32[2] 0 0");
  EXPECT_EQ(got[1].to_string(), "i64[0]");
  EXPECT_EQ(got[2].to_string(), "f32[0]");
  session.run(none).value();
  EXPECT_TRUE(ran);
}

TEST(HostCall, FailuresNameTheNode) {
  Graph g;
  auto call = [&](HostFn fn, const std::string& name) {
    return host_call(g, std::move(fn), {}, {DType::kF32}, name)[0];
  };
  Value fails = call(
      [](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
        return error(Code::kUnavailable, "no such service");
      },
      "fails");
  Value throws = call(
      [](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
        throw std::runtime_error("thrown");
      },
      "throws");
  Value few = call(
      [](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
        return std::vector<Tensor>{};
      },
      "few");
  Value wrong = call(
      [](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
        return std::vector<Tensor>{Tensor::zeros({1}, DType::kI32)};
      },
      "wrong");
  Session session(g);
  const Status status = session.run(fails).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "HostCall \"fails\": no such service");
  EXPECT_THAT(session.run(throws).status().message(),
              AllOf(HasSubstr("\"throws\""), HasSubstr("thrown")));
  EXPECT_THAT(session.run(few).status().message(),
              HasSubstr("gave 0 results, expected 1"));
  EXPECT_THAT(session.run(wrong).status().message(),
              HasSubstr("result 0 of its function has type i32, expected f32"));
}

TEST(HostCall, LivesAsLongAsItsGraph) {
  auto kept = std::make_shared<int>(0);
  const std::weak_ptr<int> alive = kept;
  auto g = std::make_unique<Graph>();
  Value y =
      host_call(*g,
                [kept](std::span<const Tensor>) -> Result<std::vector<Tensor>> {
                  return std::vector<Tensor>{Tensor::zeros({1})};
                },
                {}, {DType::kF32})[0];
  kept.reset();
  { EXPECT_TRUE(Session(*g).run(y).ok()); }
  EXPECT_FALSE(alive.expired());
  g.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(HostCall, ASavedGraphHasNoFunctions) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}, .name = "x"});
  Value y = host_call(g, twice, {x}, {DType::kF32}, "y")[0];
  const auto loaded = from_graph_def(to_graph_def(g));
  Session session(*loaded);
  const std::vector<Feed> feeds = {{loaded->value("x"), Tensor::zeros({2})}};
  EXPECT_THAT(session.run(loaded->value("y"), feeds).status().message(),
              AllOf(HasSubstr("HostCall \"y\""),
                    HasSubstr("a saved graph does not have")));
  // It can be given them again.
  const auto& name = y.node->attrs().get<std::string>("function");
  loaded->attach(name, g.attachment(name));
  EXPECT_TRUE(session.run(loaded->value("y"), feeds).ok());
}

TEST(HostCall, HasNoGradientOfItsOwn) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  Value y = host_call(g, twice, {x}, {DType::kF32})[0];
  EXPECT_THROW(dense_gradients({{y}}, {{x}}), Error);
}

TEST(CustomGradient, TakesThePlaceOfTheGradient) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  Value called = host_call(g, twice, {x}, {DType::kF32})[0];
  Value y = custom_gradient({called}, {x}, [&](std::span<const Value> grads) {
    return std::vector<Gradient>{grads[0] * constant(g, 5, DType::kF32)};
  })[0];
  Value dx = dense_gradients({{y}}, {{x}})[0];
  Session session(g);
  const auto got =
      session.run({y, dx}, {{x, Tensor::full<float>({2}, 3)}}).value();
  EXPECT_EQ(got[0].to_string(), "f32[2] 6 6");
  EXPECT_EQ(got[1].to_string(), "f32[2] 5 5");
  Value bad = custom_gradient({called}, {x}, [](std::span<const Value>) {
    return std::vector<Gradient>{};
  })[0];
  try {
    (void)dense_gradients({{bad}}, {{x}});
    FAIL() << "it has too few gradients";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("gave 0 gradients for 1 xs"));
  }
}

TEST(CustomGradient, IsTheGradient) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF64, .shape = {3}});
  // As if exp had none of its own.
  Value raised = exp(x);
  Value y = custom_gradient({raised}, {x}, [&](std::span<const Value> grads) {
    return std::vector<Gradient>{grads[0] * raised};
  })[0];
  const GradientCheck check =
      check_and_record(y, {{x, Tensor::full({3}, 0.25)}});
  EXPECT_LT(check.worst, 1e-6) << check.where;
}

TEST(HostCall, RunsAtOnceFromSeveralThreads) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  Value y = host_call(g, twice, {x}, {DType::kF32})[0];
  Session session(g, {.inter_op_threads = 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const auto in = static_cast<float>(t * 100 + i);
        const Tensor out =
            session.run(y, {{x, Tensor::full<float>({2}, in)}}).value();
        EXPECT_EQ(out.span<float>()[1], 2 * in);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rondo
