// Critical sections: one run at a time, in turn, and never left locked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/critical_section.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::HasSubstr;

Value scalar(Graph& g, double x) { return constant(g, x, DType::kF32); }
float only(const Tensor& t) { return t.span<float>()[0]; }

// v = v + 1 as a read and a write, between which others could come.
Values add_one(Value v) {
  const Value sum = add(read_variable(v), constant(v.graph(), 1, DType::kF32));
  return {assign(v, sum)};
}

class Sections : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, Sections, testing::Values(1, 3));

TEST_P(Sections, ExcludeEachOtherBetweenRuns) {
  constexpr int kThreads = 4, kEach = 100;
  Graph g;
  Value v = variable(g, scalar(g, 0), {.name = "v"});
  CriticalSection section(g);
  const Value counted = section.execute([&] { return add_one(v); })[0];
  Session session(g, {.inter_op_threads = GetParam(), .intra_op_threads = 1});
  session.run(initializer(g)).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) session.run(counted).value();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(only(session.run(v).value()), kThreads * kEach);
}

TEST_P(Sections, ExcludeEachOtherWithinARun) {
  Graph g;
  Value v = variable(g, scalar(g, 0), {.name = "v"});
  CriticalSection section(g);
  std::vector<Value> counted;
  for (int i = 0; i < 8; ++i)
    counted.push_back(section.execute([&] { return add_one(v); })[0]);
  Session session(g, {.inter_op_threads = GetParam(), .intra_op_threads = 1});
  session.run(initializer(g)).value();
  for (int i = 1; i <= 20; ++i) {
    session.run(counted, {}).value();
    EXPECT_EQ(only(session.run(v).value()), 8 * i);
  }
}

TEST_P(Sections, InBranchesAndLoops) {
  Graph g;
  Value v = variable(g, scalar(g, 0), {.name = "v"});
  Value yes =
      placeholder(g, {.dtype = DType::kBool, .shape = PartialShape::scalar()});
  CriticalSection section(g);
  const Values branch = cond(
      yes, [&] { return section.execute([&] { return add_one(v); }); },
      [&] { return Values{scalar(g, -1)}; });
  const Values loop = while_loop(
      [&](const Values& i) { return less(i[0], scalar(g, 10)); },
      [&](const Values& i) {
        section.execute([&] { return add_one(v); });
        const Value counted = section.execute([&] { return add_one(v); })[0];
        const ControlScope after(g, {counted.node});
        return Values{add(i[0], scalar(g, 1))};
      },
      {scalar(g, 0)});
  Session session(g, {.inter_op_threads = GetParam(), .intra_op_threads = 1});
  session.run(initializer(g)).value();
  auto run = [&](bool taken) {
    return only(
        session.run(branch[0], {{yes, Tensor::full<bool>({}, taken)}}).value());
  };
  EXPECT_EQ(run(true), 1);
  EXPECT_EQ(run(false), -1);
  EXPECT_EQ(run(true), 2);
  session.run(loop[0]).value();
  EXPECT_EQ(run(true), 13);
}

// `held` waits for an element of `q` with the lock held, after it has put one
// into `entries`; `other` wants the lock too.
struct Holder {
  Holder() : q(g, {DType::kF32}, {.name = "q"}), section(g, "section") {
    held = section.execute([&] {
      Node& in = entries.enqueue({scalar(g, 1)});
      const ControlScope after(g, {&in});
      return q.dequeue();
    })[0];
    other = section.execute([&] { return Values{scalar(g, 5)}; })[0];
  }
  Graph g;
  FIFOQueue q;
  FIFOQueue entries{g, {DType::kF32}, {.name = "entries"}};
  CriticalSection section;
  Value held, other;
};

TEST(CriticalSectionEnds, WithTheRunThatFails) {
  Holder h;
  Node& close = h.q.close();
  const Value entered = h.entries.dequeue()[0];
  Session session(h.g);
  Status status;
  std::thread holds([&] { status = session.run(h.held).status(); });
  session.run(entered).value();  // it has the lock now
  const auto late = session.run({h.other}, {}, {}, {.timeout = seconds(0.02)});
  EXPECT_EQ(late.status().code(), Code::kTimeout);
  session.run(close).value();
  holds.join();
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_EQ(only(session.run(h.other).value()), 5);
}

TEST(CriticalSectionEnds, WithTheRunThatIsCancelled) {
  Holder h;
  const Value entered = h.entries.dequeue()[0];
  Session session(h.g);
  Cancellation cancellation;
  std::thread holds([&] {
    EXPECT_FALSE(
        session.run({h.held}, {}, {}, {.cancellation = &cancellation}).ok());
  });
  session.run(entered).value();
  std::thread next([&] { EXPECT_EQ(only(session.run(h.other).value()), 5); });
  cancellation.cancel(error(Code::kCancelled, "enough"));
  holds.join();
  next.join();
}

TEST(CriticalSectionEnds, WithARunThatForgetsToRelease) {
  Graph g;
  const CriticalSection section(g);
  const Value lock = section.acquire();
  Session session(g);
  session.run(lock).value();
  session.run(lock).value();
}

TEST(CriticalSectionByHand, IsReleasedOnceAndByItsRun) {
  Graph g;
  const CriticalSection section(g, "section");
  const Value lock = section.acquire();
  Node& release = section.release(lock);
  Value number =
      placeholder(g, {.dtype = DType::kI64, .shape = PartialShape::scalar()});
  Node& wrong = section.release(number);
  Session session(g);
  session.run(release).value();
  session.run(release).value();
  EXPECT_THAT(
      session.run(wrong, {{number, Tensor::full<int64_t>({}, 1)}}).message(),
      HasSubstr("does not hold the lock \"section\""));
}

TEST(CriticalSectionRefuses, WhatWouldWaitForEver) {
  Graph g;
  CriticalSection section(g, "section");
  auto message = [&](const std::function<Values()>& body) -> std::string {
    try {
      section.execute(body);
    } catch (const Error& e) {
      return e.what();
    }
    return "not refused";
  };
  EXPECT_THAT(message([&] {
                return section.execute([&] { return Values{scalar(g, 1)}; });
              }),
              HasSubstr("within itself"));
  EXPECT_THAT(message([] { return Values{}; }), HasSubstr("nothing"));
  // It can still be used.
  Session session(g);
  EXPECT_EQ(
      only(session.run(section.execute([&] { return Values{scalar(g, 3)}; })[0])
               .value()),
      3);
}

}  // namespace
}  // namespace rondo
