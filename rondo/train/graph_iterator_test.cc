// Elements of data sets in runs of a session.
#include "rondo/train/graph_iterator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "rondo/graph/graph_io.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/dataset.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const DataTypes kScalar = {{DType::kI64, PartialShape::scalar()}};

int64_t scalar(const Tensor& tensor) { return tensor.span<int64_t>()[0]; }

// Opened once, by one thread, for others that wait.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(GraphIterator, OneShotBeginsByItself) {
  Graph g;
  const auto it = make_one_shot_iterator(g, Dataset::range(3).prefetch(2));
  const Value next = it.get_next()[0];
  const Value doubled = next + next;
  Session session(g);
  for (int64_t i = 0; i < 3; ++i) {
    const auto got = session.run({next, doubled}, {}).value();
    EXPECT_EQ(scalar(got[0]), i);
    EXPECT_EQ(scalar(got[1]), 2 * i) << "one element in a run";
  }
  for (int i = 0; i < 2; ++i) {
    const Status end = session.run(next).status();
    EXPECT_EQ(end.code(), Code::kOutOfRange);
    EXPECT_THAT(end.message(),
                AllOf(HasSubstr("IteratorGetNext"),
                      HasSubstr("iterator \"Iterator\" is at the end")));
  }
  Session another(g);
  EXPECT_EQ(scalar(another.run(next).value()), 0);
}

TEST(GraphIterator, InitializableBeginsWhenItIsTold) {
  Graph g;
  const auto it = make_initializable_iterator(g, Dataset::range(2), "numbers");
  const Value next = it.get_next()[0];
  Session session(g);
  const Status before = session.run(next).status();
  EXPECT_EQ(before.code(), Code::kInvalidArgument);
  EXPECT_THAT(before.message(),
              HasSubstr("the iterator \"numbers\" has not begun: run its "
                        "initializer first"));
  for (int i = 0; i < 3; ++i) {
    session.run(*it.initializer()).value();
    EXPECT_EQ(scalar(session.run(next).value()), 0);
    EXPECT_EQ(scalar(session.run(next).value()), 1);
    EXPECT_EQ(session.run(next).status().code(), Code::kOutOfRange);
  }
}

TEST(GraphIterator, PassesOfASessionShuffleAnew) {
  Graph g;
  const auto it = make_initializable_iterator(
      g, Dataset::range(100).shuffle(100, {.seed = 3}).batch(100));
  const Value next = it.get_next()[0];
  auto two_passes = [&] {
    Session session(g);
    std::vector<std::vector<int64_t>> orders;
    for (int i = 0; i < 2; ++i) {
      session.run(*it.initializer()).value();
      const Tensor batch = session.run(next).value();
      orders.emplace_back(batch.span<int64_t>().begin(),
                          batch.span<int64_t>().end());
    }
    return orders;
  };
  const auto orders = two_passes();
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_EQ(two_passes(), orders);
}

TEST(GraphIterator, TakesOtherDataOfTheSameTypes) {
  Graph g;
  const GraphIterator it(g, {{DType::kI64, {}}});
  Node& train = it.make_initializer(Dataset::range(5));
  Node& test = it.make_initializer(Dataset::range(10, 15).batch(2));
  EXPECT_THROW((void)it.make_initializer(
                   Dataset::from_tensors({Tensor::full({}, 1.0f)})),
               Error);
  const Value next = it.get_next()[0];
  Session session(g);
  session.run(train).value();
  EXPECT_EQ(scalar(session.run(next).value()), 0);
  session.run(test).value();
  EXPECT_EQ(session.run(next).value().count(), 2);
}

TEST(GraphIterator, EachGetNextTakesAnElement) {
  Graph g;
  const auto it = make_one_shot_iterator(g, Dataset::range(10));
  const Value a = it.get_next()[0];
  const Value b = it.get_next()[0];
  Session session(g, {.inter_op_threads = 2});
  const auto got = session.run({a, b}, {}).value();
  EXPECT_EQ(scalar(got[0]) + scalar(got[1]), 1);
}

TEST(GraphIterator, FailuresOfTheDataReachTheRunAndPass) {
  Graph g;
  auto function = [](const DataElement& element) -> Result<DataElement> {
    if (scalar(element[0]) == 1) return error(Code::kInvalidArgument, "bad");
    return element;
  };
  const auto it =
      make_one_shot_iterator(g, Dataset::range(3).map(function, kScalar));
  const Value next = it.get_next()[0];
  Session session(g);
  EXPECT_EQ(scalar(session.run(next).value()), 0);
  EXPECT_THAT(session.run(next).status().message(),
              HasSubstr("Dataset.map, element 1: bad"));
  EXPECT_EQ(scalar(session.run(next).value()), 2);
}

TEST(GraphIterator, ACancelledRunLosesNoElement) {
  Gate begun;
  Gate go_on;
  auto slow = [&](const DataElement& element) -> Result<DataElement> {
    begun.open();
    go_on.wait();
    return element;
  };
  Graph g;
  const auto it =
      make_one_shot_iterator(g, Dataset::range(3).map(slow, kScalar));
  const Value next = it.get_next()[0];
  Session session(g);
  Cancellation cancellation;
  std::thread canceller([&] {
    begun.wait();
    cancellation.cancel(Status(Code::kCancelled, "enough"));
  });
  const auto result =
      session.run({next}, {}, {}, {.cancellation = &cancellation});
  EXPECT_EQ(result.status().message(), "enough");
  canceller.join();
  // Neither does one that is late.
  EXPECT_EQ(
      session.run({next}, {}, {}, {.timeout = Duration(1)}).status().code(),
      Code::kTimeout);
  go_on.open();
  EXPECT_EQ(scalar(session.run(next).value()), 0);
  EXPECT_EQ(scalar(session.run(next).value()), 1);
}

TEST(GraphIterator, ASessionEndsWhileItsDataIsEndless) {
  Graph g;
  auto never = [](const DataElement&) -> Result<bool> { return false; };
  const auto it = make_one_shot_iterator(
      g, Dataset::range(3).repeat().filter(never).prefetch(1));
  const Value next = it.get_next()[0];
  Session session(g);
  EXPECT_EQ(
      session.run({next}, {}, {}, {.timeout = Duration(1)}).status().code(),
      Code::kTimeout);
}

TEST(GraphIterator, BeginningAgainEndsAWaitForTheOldData) {
  Gate begun;
  auto never = [&](const DataElement&) -> Result<bool> {
    begun.open();
    return false;
  };
  Graph g;
  const GraphIterator it(g, kScalar);
  Node& endless = it.make_initializer(Dataset::range(3).repeat().filter(never));
  Node& good = it.make_initializer(Dataset::range(3));
  const Value next = it.get_next()[0];
  Session session(g);
  session.run(endless).value();
  std::thread waiting([&] { EXPECT_EQ(scalar(session.run(next).value()), 0); });
  begun.wait();
  session.run(good).value();
  waiting.join();
}

TEST(GraphIterator, RunsDoNotChangeTheData) {
  // relu could work in place, if the rows were the run's alone.
  Graph g;
  Tensor rows = Tensor::full({2, 1000}, -1.0f);
  const auto it =
      make_one_shot_iterator(g, Dataset::from_tensor_slices({rows}).repeat());
  const Value y = relu(it.get_next()[0]);
  const Value v = variable(g, zeros(g, {1000}));
  const Value set = assign(v, it.get_next()[0]);
  const Value change = assign_add(v, ones(g, {1000}));
  Session session(g);
  session.run(initializer(g)).value();
  for (int i = 0; i < 4; ++i) {
    (void)session.run({y, set}, {}).value();
    (void)session.run(change).value();
  }
  for (const float x : rows.span<float>()) ASSERT_EQ(x, -1.0f);
}

TEST(GraphIterator, FilesDoNotKeepDataSets) {
  Graph g;
  const auto it = make_one_shot_iterator(g, Dataset::range(3));
  const std::string name = it.get_next()[0].name();
  const auto loaded = from_graph_def(to_graph_def(g));
  Session session(*loaded);
  EXPECT_THAT(session.run(loaded->value(name)).status().message(),
              AllOf(HasSubstr("the graph has no data set \"Dataset\""),
                    HasSubstr("make the iterator again")));
}

TEST(GraphIterator, ChecksItsNode) {
  Graph g;
  EXPECT_THROW(
      (void)g.add({.op = "IteratorGetNext",
                   .attrs = {{"iterator", std::string("i")},
                             {"output_types", std::vector<DType>{DType::kF32}},
                             {"output_shapes", std::vector<PartialShape>()}}}),
      Error);
  EXPECT_THROW((void)make_iterator(g, {.iterator = "i"}), Error);
}

}  // namespace
}  // namespace rondo
