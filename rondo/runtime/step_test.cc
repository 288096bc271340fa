// Runs that wait, fail, are cancelled or go on side by side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/state.h"
#include "rondo/kernels/kernel_registry.h"
#include "rondo/runtime/buffer_pool.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::HasSubstr;

// An operation that gives its input on from another thread; with `forever` it
// waits until the run is cancelled.
class Detour final : public AsyncKernel {
 public:
  explicit Detour(const Node& node)
      : forever_(node.attrs().get<bool>("forever")) {}

  void start(KernelContext& context, Done done) override {
    std::thread([this, &context, done = std::move(done)] {
      if (!forever_) {
        context.set_output(0, context.input(0));
        done({});
        return;
      }
      while (!context.cancellation().cancelled()) std::this_thread::yield();
      done(context.cancellation().reason());
    }).detach();
  }

 private:
  const bool forever_;
};

class Throws final : public AsyncKernel {
 public:
  explicit Throws(const Node&) {}
  void start(KernelContext&, Done) override {
    throw Error(Code::kResource, "nothing left");
  }
};

Status run_fail(const Node&, KernelContext&) {
  return error(Code::kInvalidArgument, "as it must");
}

Status like_input(InferContext& c) {
  c.output(c.dtype(0), c.shape(0));
  return {};
}

void register_once() {
  static const bool done = [] {
    OpRegistry::process().add(
        {.name = "TestDetour",
         .doc = "For tests.",
         .inputs = {{"x"}},
         .outputs = {"y"},
         .attrs = {{"forever", false, false, "whether it never ends"}},
         .infer = like_input,
         .kind = OpKind::kStateful});
    OpRegistry::process().add({.name = "TestFail",
                               .doc = "For tests.",
                               .inputs = {{"x"}},
                               .outputs = {"y"},
                               .infer = like_input,
                               .kind = OpKind::kStateful});
    OpRegistry::process().add({.name = "TestThrow",
                               .doc = "For tests.",
                               .inputs = {{"x"}},
                               .outputs = {"y"},
                               .infer = like_input,
                               .kind = OpKind::kStateful});
    KernelRegistry::process().add("TestDetour", "cpu", from_class<Detour>());
    KernelRegistry::process().add("TestThrow", "cpu", from_class<Throws>());
    KernelRegistry::process().add("TestFail", "cpu", from_function(run_fail));
    return true;
  }();
  ASSERT_TRUE(done);
}

Value detour(Value x, bool forever = false) {
  return make("TestDetour", {x}, {{"forever", forever}});
}

// As inter-op threads: alone, and several.
class Runs : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { register_once(); }
  SessionOptions options() const {
    return {.inter_op_threads = GetParam(), .intra_op_threads = 1};
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, Runs, testing::Values(1, 4));

TEST_P(Runs, AsynchronousKernelsGoOnSideBySide) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  std::vector<Value> ends;
  for (int i = 0; i < 20; ++i) ends.push_back(detour(detour(identity(x))));
  Session session(g, options());
  for (int i = 0; i < 10; ++i) {
    const auto out =
        session.run(ends, {{x, Tensor::full<float>({2}, 3)}}).value();
    for (const Tensor& t : out) EXPECT_EQ(t.span<float>()[1], 3);
  }
}

TEST_P(Runs, AFailureNamesTheNodeAndEndsWhatWaits) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}, .name = "x"});
  Value bad = make("TestFail", {x}, {}, "bad");
  Value waits = detour(x, true);
  Session session(g, options());
  const std::vector<Feed> feeds{{x, Tensor::zeros({2})}};
  const auto result = session.run({waits, bad}, feeds);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "TestFail \"bad\": as it must");
  EXPECT_TRUE(session.run(identity(x), feeds).ok());
  EXPECT_FALSE(session.run({waits, bad}, feeds).ok());
}

TEST_P(Runs, AnAsynchronousKernelThatCannotStartFailsTheRun) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}, .name = "x"});
  Value bad = make("TestThrow", {x}, {}, "bad");
  Session session(g, options());
  const std::vector<Feed> feeds{{x, Tensor::zeros({2})}};
  for (int i = 0; i < 2; ++i) {
    const auto result = session.run({detour(x), bad}, feeds);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().message(), "TestThrow \"bad\": nothing left");
  }
}

TEST_P(Runs, EndInTime) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  Value waits = detour(x, true);
  Session session(g, options());
  const auto result = session.run({waits}, {{x, Tensor::zeros({2})}}, {},
                                  {.timeout = seconds(0.05)});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::kTimeout);
  EXPECT_THAT(result.status().message(),
              HasSubstr(fmt::format("in time: it was still running {}",
                                    waits.node->describe())));
}

TEST_P(Runs, EndInTimeThoughThereIsAlwaysSomethingToDo) {
  Graph g;
  const Values ends =
      while_loop([&](const Values& v) { return greater_equal(v[0], v[0]); },
                 [&](const Values& v) { return Values{v[0] + 1.0}; },
                 {constant(g, 0, DType::kF32)});
  Session session(g, options());
  const auto result = session.run(ends, {}, {}, {.timeout = seconds(0.05)});
  EXPECT_EQ(result.status().code(), Code::kTimeout);
  EXPECT_THAT(result.status().message(), HasSubstr("in time: "));
  EXPECT_THAT(result.status().message(), HasSubstr("while"));
}

TEST_P(Runs, AreCancelledFromOutside) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  Value waits = detour(x, true);
  Session session(g, options());
  Cancellation cancellation;
  std::thread other(
      [&] { cancellation.cancel(error(Code::kCancelled, "enough")); });
  const auto result = session.run({waits}, {{x, Tensor::zeros({2})}}, {},
                                  {.cancellation = &cancellation});
  other.join();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(), "enough");
}

TEST_P(Runs, SeveralAtOnceOnOneSession) {
  Graph g;
  Value x = placeholder(g, {.shape = {1}});
  Value v = variable(g, zeros(g, {1}), {.name = "v"});
  Value y = detour(identity(x));
  Value count = assign_add(v, ones(g, {1}));
  Session session(g, options());
  session.run(initializer(g)).value();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto in = static_cast<float>(100 * t + i);
        auto out = session.run({y, count}, {{x, Tensor::full<float>({1}, in)}});
        if (!out.ok() || (*out)[0].span<float>()[0] != in) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(session.run(v).value().span<float>()[0], 200);
}

TEST_P(Runs, ATimelineHasEveryKernel) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}});
  Value y = reshape(detour(x), {2, 1});
  Session session(g, options());
  Timeline timeline;
  session.run({y}, {{x, Tensor::zeros({2})}}, {}, {.timeline = &timeline})
      .value();
  std::vector<std::string> ops;
  for (const auto& event : timeline.events()) ops.push_back(event.op);
  EXPECT_THAT(ops,
              testing::UnorderedElementsAre("TestDetour", "Const", "Reshape"));
  EXPECT_THAT(timeline.to_json(), HasSubstr("\"ph\": \"X\""));
}

TEST(BufferPool, UsesBlocksAgain) {
  BufferPool pool;
  const void* first = nullptr;
  {
    Tensor a = pool.allocate(DType::kF32, {1000});
    first = a.data();
  }
  Tensor b = pool.allocate(DType::kF64, {500});
  EXPECT_EQ(b.data(), first);
  Tensor c = pool.allocate(DType::kF32, {1000});
  EXPECT_NE(c.data(), first);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(c.data()) % 64, 0);
  const size_t bytes = pool.bytes();
  for (int i = 0; i < 100; ++i) pool.allocate(DType::kF32, {999});
  EXPECT_LE(pool.bytes(), bytes + 5000);
}

TEST(BufferPool, TensorsMayOutliveIt) {
  Tensor t;
  {
    BufferPool pool;
    t = pool.allocate(DType::kF32, {3});
  }
  t.span<float>()[2] = 1;
  EXPECT_EQ(t.span<float>()[2], 1);
}

TEST(BufferPool, EverySizeFits) {
  BufferPool pool;
  for (int64_t n = 0; n < 5000; n += 7) {
    Tensor t = pool.allocate(DType::kU8, {n});
    std::ranges::fill(t.span<uint8_t>(), uint8_t{1});
    EXPECT_EQ(t.count(), n);
  }
}

}  // namespace
}  // namespace rondo
