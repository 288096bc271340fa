// Sessions on several devices of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kCpu0 = "/job:localhost/task:0/cpu:0";
constexpr const char* kCpu1 = "/job:localhost/task:0/cpu:1";

const SessionOptions kTwo = {.intra_op_threads = 1, .devices = {{"cpu", 2}}};

Tensor scalar(float x) { return Tensor::full(Shape{}, x); }
float number(const Tensor& t) { return t.span<float>()[0]; }

class DeviceSessionTest : public testing::Test {
 protected:
  Value feed(const std::string& name, PartialShape shape = {}) {
    return placeholder(g_, {.shape = std::move(shape), .name = name});
  }
  Graph g_;
};

TEST_F(DeviceSessionTest, KnowsItsDevices) {
  EXPECT_THAT(Session(g_, kTwo).devices(), ElementsAre(kCpu0, kCpu1));
  EXPECT_THAT(Session(g_).devices(), ElementsAre(kCpu0));
  EXPECT_THROW(Session(g_, {.devices = {{"tpu", 1}}}), Error);
}

TEST_F(DeviceSessionTest, AChainThatGoesBackAndForth) {
  Value x = feed("x");
  Value y = x;
  for (int i = 0; i < 10; ++i) {
    const DeviceScope device(g_, i % 2 == 0 ? "/cpu:0" : "/cpu:1");
    y = y + constant(g_, 1, DType::kF32);
  }
  Session session(g_, kTwo);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(number(session.run(y, {{x, scalar(i)}}).value()), i + 10);
}

TEST_F(DeviceSessionTest, FetchesAreInTheCallersOrder) {
  Value x = feed("x");
  Value z = feed("z");
  Value a, b, c;
  {
    const DeviceScope device(g_, "/cpu:1");
    a = x + x;
    c = a * a;
  }
  {
    const DeviceScope device(g_, "/cpu:0");
    b = a + x;
  }
  Session session(g_, kTwo);
  const auto got =
      session.run({c, x, b, z, a}, {{z, scalar(7)}, {x, scalar(3)}}).value();
  std::vector<float> numbers;
  for (const Tensor& t : got) numbers.push_back(number(t));
  EXPECT_THAT(numbers, ElementsAre(36, 3, 9, 7, 6));
  EXPECT_TRUE(session.run(std::vector<Value>(), {}).value().empty());
}

// The branch is chosen on one device, and what it reads is on the other.
TEST_F(DeviceSessionTest, AChangeDoesNotGoWithABranchThatReads) {
  Value taken = placeholder(g_, {.dtype = DType::kBool, .shape = Shape{}});
  Value n;
  {
    const DeviceScope device(g_, "/cpu:1");
    n = variable(g_, constant(g_, 1, DType::kF32), {.name = "n"});
  }
  const auto reads = [&] {
    const DeviceScope here(g_, "/cpu:0");
    const Value more = constant(g_, 10, DType::kF32);
    const DeviceScope there(g_, "/cpu:1");
    return Values{read_variable(n) + more};
  };
  const Values y =
      cond(taken, reads, [&] { return Values{constant(g_, 7, DType::kF32)}; });
  const Value changed = assign_add(n, constant(g_, 1, DType::kF32));
  Session session(g_, kTwo);
  session.run(initializer(g_)).value();
  for (const bool take : {true, false, true}) {
    const auto got =
        session.run({y[0], changed}, {{taken, Tensor::full<bool>({}, take)}});
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(number((*got)[0]), take ? number((*got)[1]) + 9 : 7);
  }
}

TEST_F(DeviceSessionTest, ADeviceThatIsNotThere) {
  Value y;
  {
    const DeviceScope device(g_, "/cpu:7");
    y = identity(constant(g_, 1, DType::kF32), "y");
  }
  for (const SessionOptions& options : {SessionOptions(), kTwo}) {
    const Status status = Session(g_, options).run(y).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("/cpu:7"));
    EXPECT_THAT(status.message(), HasSubstr(kCpu0));
  }
  EXPECT_THAT(Session(g_, kTwo).run(y).status().message(), HasSubstr(kCpu1));
  SessionOptions soft = kTwo;
  soft.allow_soft_placement = true;
  EXPECT_EQ(number(Session(g_, soft).run(y).value()), 1);
  EXPECT_EQ(number(Session(g_, {.allow_soft_placement = true}).run(y).value()),
            1);
}

TEST_F(DeviceSessionTest, BranchesOnDifferentDevices) {
  Value x = feed("x");
  Value yes = placeholder(g_, {.dtype = DType::kBool, .shape = {}});
  Value y = cond(
      yes,
      [&] {
        const DeviceScope device(g_, "/cpu:1");
        return Values{x * x};
      },
      [&] {
        const DeviceScope device(g_, "/cpu:0");
        return Values{x + x};
      })[0];
  Value z;
  {
    const DeviceScope device(g_, "/cpu:1");
    z = y + constant(g_, 1, DType::kF32);
  }
  Session session(g_, kTwo);
  for (int i = 0; i < 10; ++i) {
    auto run = [&](bool taken) {
      return number(
          session.run(z, {{x, scalar(3)}, {yes, Tensor::full(Shape{}, taken)}})
              .value());
    };
    EXPECT_EQ(run(true), 10);
    EXPECT_EQ(run(false), 7);
  }
}

TEST_F(DeviceSessionTest, DeadControlEdgesStayDead) {
  Value yes = placeholder(g_, {.dtype = DType::kBool, .shape = {}});
  Value v;
  {
    const DeviceScope device(g_, "/cpu:1");
    v = variable(g_, constant(g_, 0, DType::kF32), {.name = "v"});
  }
  // The branch's own node is on /cpu:0, and what waits for it on /cpu:1.
  Value y = cond(
      yes,
      [&] {
        Value marker;
        {
          const DeviceScope device(g_, "/cpu:0");
          marker = constant(g_, 5, DType::kF32);
        }
        const DeviceScope device(g_, "/cpu:1");
        const ControlScope after(g_, {marker.node});
        return Values{assign_add(v, constant(g_, 1, DType::kF32))};
      },
      [&] { return Values{constant(g_, -1, DType::kF32)}; })[0];
  Session session(g_, kTwo);
  session.run(initializer(g_)).value();
  auto run = [&](bool taken) {
    return number(
        session.run(y, {{yes, Tensor::full(Shape{}, taken)}}).value());
  };
  EXPECT_EQ(run(false), -1);
  EXPECT_EQ(run(true), 1);
  EXPECT_EQ(run(false), -1);
  EXPECT_EQ(number(session.run(v).value()), 1);
}

TEST_F(DeviceSessionTest, ALoopAndItsGradientOnAnotherDevice) {
  Value x = feed("x", PartialShape::scalar());
  Value y;
  {
    const DeviceScope device(g_, "/cpu:1");
    y = while_loop(
        [&](const Values& v) {
          return less(v[0], constant(g_, 100, DType::kF32));
        },
        [&](const Values& v) { return Values{v[0] * v[0]}; }, {x})[0];
  }
  const Value ys[] = {y};
  const Value xs[] = {x};
  const Value dx = gradients(ys, xs)[0].values;
  Value sum;
  {
    const DeviceScope device(g_, "/cpu:0");
    sum = y + dx;
  }
  Session session(g_, kTwo);
  // 3, 9, 81, 6561: x to the 8th.
  const auto got = session.run({y, dx, sum}, {{x, scalar(3)}}).value();
  EXPECT_EQ(number(got[0]), 6561);
  EXPECT_EQ(number(got[1]), 8 * 2187);
  EXPECT_EQ(number(got[2]), 6561 + 8 * 2187);
}

TEST_F(DeviceSessionTest, AQueueOnAnotherDevice) {
  Value x = feed("x", PartialShape::scalar());
  std::optional<FIFOQueue> queue;
  Node* put = nullptr;
  Value got;
  {
    const DeviceScope device(g_, "/cpu:1");
    queue.emplace(g_, std::vector<DType>{DType::kF32});
    put = &queue->enqueue({x + x});
    got = queue->dequeue()[0];
  }
  Value y;
  {
    const DeviceScope device(g_, "/cpu:0");
    y = got + constant(g_, 1, DType::kF32);
  }
  Session session(g_, kTwo);
  std::thread taker([&] {
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(number(session.run(y).value()), 2 * i + 1);
  });
  for (int i = 0; i < 20; ++i) session.run(*put, {{x, scalar(i)}}).value();
  taker.join();
}

TEST_F(DeviceSessionTest, WhoReadsBeforeAChangeSeesTheOldValue) {
  Value v, y;
  {
    const DeviceScope device(g_, "/cpu:0");
    v = variable(g_, constant(g_, 0, DType::kF32), {.name = "v"});
  }
  {
    const DeviceScope device(g_, "/cpu:1");
    y = v * constant(g_, 10, DType::kF32);
  }
  const Value more = assign_add(v, constant(g_, 1, DType::kF32));
  Session session(g_, kTwo);
  session.run(initializer(g_)).value();
  for (int i = 0; i < 200; ++i) {
    const auto got = session.run({y, more}, {}).value();
    ASSERT_EQ(number(got[0]), 10.0f * static_cast<float>(i));
    ASSERT_EQ(number(got[1]), static_cast<float>(i + 1));
  }
}

TEST_F(DeviceSessionTest, AnErrorNamesDeviceAndNode) {
  Value index = placeholder(g_, {.dtype = DType::kI64, .shape = {1}});
  Value y;
  {
    const DeviceScope device(g_, "/cpu:1");
    const Value table = constant(g_, 1, DType::kF32) + fill(g_, {4}, 0);
    y = make("Gather", {table, index}, {}, "look_up");
  }
  Value z;
  {
    const DeviceScope device(g_, "/cpu:0");
    z = y + y;
  }
  Session session(g_, kTwo);
  auto run = [&](int64_t at) {
    return session.run(z, {{index, Tensor::full<int64_t>({1}, at)}});
  };
  for (int i = 0; i < 20; ++i) {
    const Status status = run(9).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("look_up"));
    EXPECT_THAT(status.message(), HasSubstr(kCpu1));
    EXPECT_EQ(number(run(2).value()), 2);
  }
}

// A step in which /cpu:0 waits for /cpu:1, which waits for a queue.
class WaitingTest : public DeviceSessionTest {
 protected:
  WaitingTest() {
    const DeviceScope device(g_, "/cpu:1");
    queue_.emplace(g_, std::vector<DType>{DType::kF32});
    const Value got = queue_->dequeue()[0];
    const DeviceScope other(g_, "/cpu:0");
    y_ = got + got;
  }
  std::optional<FIFOQueue> queue_;
  Value y_;
};

TEST_F(WaitingTest, ATimeoutDoesNotBlameADeviceThatIsDone) {
  Session session(g_, kTwo);
  Value alone;
  {
    const DeviceScope first(g_, "/cpu:0");
    alone = identity(constant(g_, Tensor::full({1}, 1.0F)));
  }
  const Value got = y_.node->input(0);
  const auto result = session.run({alone, got}, {}, {},
                                  {.timeout = std::chrono::milliseconds(30)});
  EXPECT_EQ(result.status().code(), Code::kTimeout);
  EXPECT_THAT(result.status().message(), HasSubstr(got.node->name()));
}

TEST_F(WaitingTest, Timeouts) {
  Session session(g_, kTwo);
  const auto result =
      session.run({y_}, {}, {}, {.timeout = std::chrono::milliseconds(30)});
  EXPECT_EQ(result.status().code(), Code::kTimeout);
  // On its own device, or on the other one, where it is waited for.
  EXPECT_THAT(result.status().message(), HasSubstr("still running"));
  EXPECT_THAT(result.status().message(), HasSubstr("equeue"));
}

TEST_F(WaitingTest, Cancellation) {
  Session session(g_, kTwo);
  for (int i = 0; i < 10; ++i) {
    Cancellation cancellation;
    std::thread other(
        [&] { cancellation.cancel(error(Code::kCancelled, "enough")); });
    const auto result =
        session.run({y_}, {}, {}, {.cancellation = &cancellation});
    other.join();
    EXPECT_EQ(result.status().code(), Code::kCancelled);
    EXPECT_EQ(result.status().message(), "enough");
  }
}

TEST_F(WaitingTest, Close) {
  Session session(g_, kTwo);
  std::thread other([&] { session.close(); });
  EXPECT_EQ(session.run(y_).status().code(), Code::kCancelled);
  other.join();
  EXPECT_EQ(session.run(y_).status().code(), Code::kCancelled);
}

TEST_F(DeviceSessionTest, RunsAtOnce) {
  Value x = feed("x");
  Value a, b;
  {
    const DeviceScope device(g_, "/cpu:1");
    a = x * x;
  }
  {
    const DeviceScope device(g_, "/cpu:0");
    b = a + x;
  }
  SessionOptions options = kTwo;
  options.inter_op_threads = 2;
  Session session(g_, options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const auto at = static_cast<float>(t * 100 + i);
        EXPECT_EQ(number(session.run(b, {{x, scalar(at)}}).value()),
                  at * at + at);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeviceSessionTest, TheTimelineNamesDevices) {
  Value x = feed("x");
  Value y;
  {
    const DeviceScope device(g_, "/cpu:1");
    y = x * x;
  }
  {
    const DeviceScope device(g_, "/cpu:0");
    y = make("Neg", {y}, {}, "last");
  }
  Session session(g_, kTwo);
  Timeline timeline;
  session.run({y}, {{x, scalar(2)}}, {}, {.timeline = &timeline}).value();
  bool found = false;
  for (const Timeline::Event& event : timeline.events()) {
    EXPECT_THAT(event.device, HasSubstr("/cpu:"));
    if (event.node != "last") continue;
    found = true;
    EXPECT_EQ(event.device, kCpu0);
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(timeline.to_json(), HasSubstr("process_name"));
  EXPECT_THAT(timeline.to_json(), HasSubstr(kCpu1));
}

TEST_F(DeviceSessionTest, NarrowTransfers) {
  Value x = feed("x");
  Value a, b;
  {
    const DeviceScope device(g_, "/cpu:0");
    a = x + constant(g_, 0.5, DType::kF32);
  }
  {
    const DeviceScope device(g_, "/cpu:1");
    b = make("Neg", {a});
  }
  SessionOptions options = kTwo;
  options.bf16_transfers = true;
  // 257.5 has 10 bits; bf16 keeps 8.
  EXPECT_EQ(number(Session(g_, options).run(b, {{x, scalar(257)}}).value()),
            -258);
  EXPECT_EQ(number(Session(g_, kTwo).run(b, {{x, scalar(257)}}).value()),
            -257.5f);
}

}  // namespace
}  // namespace rondo
