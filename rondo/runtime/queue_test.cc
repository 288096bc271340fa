// Queues within a run and between runs; what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/queue_fixture.h"

namespace rondo {
namespace {

using namespace queue_test;
using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
std::string refused(F build) {
  try {
    build();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kInvalidArgument);
    return e.what();
  }
  return "not refused";
}

TEST(FifoQueue, GivesInTheOrderInWhichItGot) {
  Scalars q;
  for (const float v : {1.0f, 2.0f, 3.0f}) q.enqueue(v).value();
  EXPECT_EQ(q.elements(), 3);
  for (const float v : {1.0f, 2.0f, 3.0f})
    EXPECT_EQ(only(q.session.run(q.take).value()), v);
  EXPECT_EQ(q.elements(), 0);
}

TEST(FifoQueue, HasSeveralComponents) {
  Graph g;
  const FIFOQueue queue(g, {DType::kF32, DType::kI64}, {.shapes = {{2}, {}}});
  Node& put =
      queue.enqueue({constant(g, floats({1, 2})), constant(g, 7, DType::kI64)});
  const auto out = queue.dequeue();
  EXPECT_EQ(out[0].shape(), PartialShape({2}));
  EXPECT_EQ(out[1].dtype(), DType::kI64);
  Session session(g);
  session.run(put).value();
  const auto got = session.run(out, {}).value();
  EXPECT_THAT(all(got[0]), ElementsAre(1, 2));
  EXPECT_EQ(got[1].span<int64_t>()[0], 7);
}

TEST(FifoQueue, StacksAndSplitsRows) {
  Graph g;
  const FIFOQueue queue(g, {DType::kF32, DType::kI64},
                        {.shapes = {{2}, PartialShape::scalar()}});
  Node& put = queue.enqueue_many(
      {reshape(constant(g, floats({1, 2, 3, 4, 5, 6})), {3, 2}),
       constant_ints(g, {10, 20, 30})});
  const auto two = queue.dequeue_many(2);
  const auto none = queue.dequeue_many(0);
  EXPECT_EQ(two[0].shape(), PartialShape({2, 2}));
  Session session(g);
  session.run(put).value();
  const auto got = session.run(two, {}).value();
  EXPECT_THAT(all(got[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(got[1].span<int64_t>()[1], 20);
  EXPECT_EQ(session.run(none, {}).value()[0].shape(), Shape({0, 2}));
  EXPECT_EQ(session.run(queue.size()).value().span<int64_t>()[0], 1);
}

TEST(FifoQueue, KeepsWhatItGotWhateverBecomesOfTheFeed) {
  Scalars q;
  Tensor mine = Tensor::full<float>({}, 5);
  q.session.run(q.put, {{q.x, mine}}).value();
  mine.span<float>()[0] = 6;
  EXPECT_EQ(only(q.session.run(q.take).value()), 5);
}

TEST(FifoQueue, IsNeitherFoldedNorShared) {
  Graph g;
  const FIFOQueue queue(g, {DType::kF32}, {.name = "q"});
  Node& one = queue.enqueue({scalar(g, 1)});
  Node& again = queue.enqueue({scalar(g, 1)});
  const Value a = queue.dequeue()[0];
  const Value b = queue.dequeue()[0];
  Session session(g);
  for (int i = 0; i < 3; ++i) session.run({}, {}, {&one, &again}).value();
  EXPECT_EQ(session.run(queue.size()).value().span<int64_t>()[0], 6);
  // Both are taken, though only their sum is asked for; twice, as ever.
  session.run(add(a, b)).value();
  session.run(add(a, b)).value();
  EXPECT_EQ(session.run(queue.size()).value().span<int64_t>()[0], 2);
}

TEST(FifoQueue, OfOneSharedNameIsOneQueue) {
  Graph g;
  const FIFOQueue a(g, {DType::kF32}, {.shared_name = "common"});
  const FIFOQueue b(g, {DType::kF32}, {.shared_name = "common"});
  const FIFOQueue other(g, {DType::kI32}, {.shared_name = "common"});
  const FIFOQueue own(g, {DType::kF32}, {.name = "q"});
  const FIFOQueue own2(g, {DType::kF32}, {.name = "q"});
  EXPECT_NE(own.name(), own2.name());
  Session session(g);
  session.run(a.enqueue({scalar(g, 4)})).value();
  EXPECT_EQ(only(session.run(b.dequeue()[0]).value()), 4);
  const auto wrong = session.run(other.size());
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.status().message(), HasSubstr("\"common\" is there"));
  EXPECT_THAT(wrong.status().message(), HasSubstr("types"));
}

TEST(FifoQueue, InOneRunOnOneThread) {
  // Nothing is there when the run begins, and there is room for one only.
  Graph g;
  const FIFOQueue queue(g, {DType::kF32}, {.capacity = 1});
  std::vector<Value> taken;
  for (int i = 0; i < 5; ++i) taken.push_back(queue.dequeue()[0]);
  std::vector<Node*> puts;
  for (int i = 0; i < 5; ++i) puts.push_back(&queue.enqueue({scalar(g, i)}));
  Session session(g, {.inter_op_threads = 1, .intra_op_threads = 1});
  auto got = session.run(taken, {}, puts).value();
  std::set<float> values;
  for (const Tensor& t : got) values.insert(only(t));
  EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4));
}

TEST(FifoQueue, VariablesDoNotCloseACircleThroughIt) {
  // The taker reads the variable after the element has come; the change whose
  // result is put in must not wait for that read.
  Graph g;
  Value v = variable(g, scalar(g, 1), {.name = "v"});
  const FIFOQueue queue(g, {DType::kF32});
  const Value element = queue.dequeue()[0];
  Value read;
  {
    const ControlScope after(g, {element.node});
    read = read_variable(v);
  }
  Node& put = queue.enqueue({assign_add(v, scalar(g, 1))});
  Session session(g);
  session.run(initializer(g)).value();
  const auto got = session.run({element, read}, {}, {&put}).value();
  EXPECT_EQ(only(got[0]), 2);
  EXPECT_EQ(only(got[1]), 2);
}

TEST(FifoQueue, APutterThatWaitsDoesNotHoldUpAChange) {
  // The full queue is emptied only after the variable has changed.
  Graph g;
  Value v = variable(g, scalar(g, 1), {.name = "v"});
  const FIFOQueue queue(g, {DType::kF32}, {.capacity = 1});
  Node& fill = queue.enqueue({scalar(g, 0)});
  Node& put = queue.enqueue({v});
  const Value changed = assign_add(v, scalar(g, 1));
  Value element;
  {
    const ControlScope after(g, {changed.node});
    element = queue.dequeue()[0];
  }
  Session session(g);
  session.run(initializer(g)).value();
  session.run(fill).value();
  EXPECT_EQ(only(session.run({element}, {}, {&put}).value()[0]), 0);
  EXPECT_EQ(only(session.run(queue.dequeue()[0]).value()), 1);
}

TEST(FifoQueue, InALoop) {
  Graph g;
  const FIFOQueue queue(g, {DType::kF32}, {.shapes = {{}}});
  Node& put = queue.enqueue_many({constant(g, floats({1, 2, 3, 4}))});
  const auto sum = while_loop(
      [&](const Values& v) { return less(v[0], scalar(g, 4)); },
      [&](const Values& v) {
        // One after the other, though iterations overlap.
        const ControlScope after(g, {v[1].node});
        return Values{add(v[0], scalar(g, 1)),
                      add(mul(v[1], scalar(g, 10)), queue.dequeue()[0])};
      },
      {scalar(g, 0), scalar(g, 0)});
  Session session(g);
  session.run(put).value();
  EXPECT_EQ(only(session.run(sum[1]).value()), 1234);
}

TEST(FifoQueue, NothingFlowsBackThroughIt) {
  Graph g;
  const FIFOQueue queue(g, {DType::kF32}, {.shapes = {{}}});
  Value w = variable(g, scalar(g, 2));
  Value x = queue.dequeue()[0];
  const std::vector<Value> ys{mul(w, x)};
  const std::vector<Value> xs{w};
  const auto grads = gradients(ys, xs);
  Session session(g);
  session.run(initializer(g)).value();
  session.run(queue.enqueue({scalar(g, 3)})).value();
  EXPECT_EQ(only(session.run(grads[0].values).value()), 3);
}

// ---- Shuffling --------------------------------------------------------------

std::vector<float> shuffled(int64_t seed, int64_t graph_seed = 0) {
  Graph g;
  g.set_seed(graph_seed);
  const RandomShuffleQueue queue(
      g, {DType::kF32},
      {.queue = {.shapes = {PartialShape::scalar()}}, .seed = seed});
  std::vector<float> values;
  for (int i = 0; i < 50; ++i) values.push_back(static_cast<float>(i));
  Node& put = queue.enqueue_many({constant(g, floats(values))});
  const Value take = queue.dequeue_many(50)[0];
  Session session(g);
  session.run(put).value();
  return all(session.run(take).value());
}

TEST(RandomShuffleQueue, GivesTheSameOrderForTheSameSeed) {
  const auto a = shuffled(7);
  EXPECT_EQ(a, shuffled(7));
  EXPECT_NE(a, shuffled(8));
  EXPECT_EQ(shuffled(0, 5), shuffled(0, 5));
  EXPECT_NE(shuffled(0), shuffled(0));
  auto sorted = a;
  std::ranges::sort(sorted);
  EXPECT_NE(a, sorted);
  for (size_t i = 0; i < sorted.size(); ++i)
    EXPECT_EQ(sorted[i], static_cast<float>(i));
}

TEST(RandomShuffleQueue, KeepsSomeToChooseFromUntilItIsClosed) {
  Graph g;
  const RandomShuffleQueue queue(
      g, {DType::kF32},
      {.queue = {.capacity = 10, .shapes = {PartialShape::scalar()}},
       .min_after_dequeue = 2,
       .seed = 1});
  Node& put = queue.enqueue_many({constant(g, floats({1, 2, 3}))});
  const Value take = queue.dequeue()[0];
  Node& close = queue.close();
  Session session(g);
  session.run(put).value();
  session.run(take).value();
  const auto late = session.run({take}, {}, {}, {.timeout = seconds(0.02)});
  EXPECT_EQ(late.status().code(), Code::kTimeout);
  session.run(close).value();
  session.run(take).value();
  session.run(take).value();
  EXPECT_EQ(session.run(take).status().code(), Code::kOutOfRange);
}

// ---- What is refused --------------------------------------------------------

TEST(QueueRefuses, WhatMakesNoSense) {
  Graph g;
  EXPECT_THAT(refused([&] { FIFOQueue(g, {}); }), HasSubstr("no components"));
  EXPECT_THAT(refused([&] {
                FIFOQueue(g, {DType::kF32}, {.shapes = {{2}, {3}}});
              }),
              HasSubstr("1 types and 2 shapes"));
  EXPECT_THAT(refused([&] { FIFOQueue(g, {DType::kF32}, {.capacity = 0}); }),
              HasSubstr("capacity"));
  EXPECT_THAT(refused([&] {
                RandomShuffleQueue(
                    g, {DType::kF32},
                    {.queue = {.capacity = 3}, .min_after_dequeue = 3});
              }),
              HasSubstr("min_after_dequeue"));
}

TEST(QueueRefuses, ElementsThatDoNotFit) {
  Graph g;
  const FIFOQueue queue(g, {DType::kF32, DType::kI64},
                        {.shapes = {{2}, PartialShape::scalar()}, .name = "q"});
  Value two = placeholder(g, {.shape = {2}});
  Value three = placeholder(g, {.shape = {3}});
  Value any = placeholder(g, {.name = "any"});
  Value number = constant(g, 1, DType::kI64);
  EXPECT_THAT(refused([&] { queue.enqueue({two}); }),
              HasSubstr("\"q\" has 2 components, not 1"));
  EXPECT_THAT(
      refused([&] {
        queue.enqueue({two, two});
      }),
      HasSubstr("component 1 of the queue \"q\" has type i64, not f32"));
  EXPECT_THAT(refused([&] {
                queue.enqueue({three, number});
              }),
              HasSubstr("has shape [2], not [3]"));
  EXPECT_THAT(refused([&] {
                queue.enqueue_many({two, number});
              }),
              HasSubstr("has shape [?, 2], not [2]"));
  EXPECT_THAT(refused([&] {
                queue.enqueue_many(
                    {placeholder(g, {.shape = {4, 2}}),
                     placeholder(g, {.dtype = DType::kI64, .shape = {3}})});
              }),
              HasSubstr("rows: 4 and 3"));
  // What is known only when it runs.
  Node& put = queue.enqueue({any, number});
  Node& many = queue.enqueue_many(
      {any, placeholder(g, {.dtype = DType::kI64, .name = "labels"})});
  Session session(g);
  EXPECT_THAT(session.run(put, {{any, floats({1, 2, 3})}}).message(),
              HasSubstr("component 0 of the queue \"q\" has shape [2], not "
                        "[3]"));
  EXPECT_THAT(
      session
          .run(many, {{any, Tensor::zeros({3, 2})},
                      {g.value("labels"), Tensor::zeros({2}, DType::kI64)}})
          .message(),
      HasSubstr("component 0 has 3 rows and component 1 has 2"));
  EXPECT_THAT(
      session
          .run(many, {{any, Tensor::zeros({})},
                      {g.value("labels"), Tensor::zeros({2}, DType::kI64)}})
          .message(),
      HasSubstr("scalar"));
  EXPECT_EQ(session.run(queue.size()).value().span<int64_t>()[0], 0);
}

TEST(QueueRefuses, SeveralAtOnceOfShapesThatAreNotKnown) {
  Graph g;
  const FIFOQueue any(g, {DType::kF32});
  const FIFOQueue partly(g, {DType::kF32}, {.shapes = {{kAny, 2}}});
  EXPECT_THAT(refused([&] { any.dequeue_many(2); }), HasSubstr("shapes"));
  EXPECT_THAT(refused([&] { partly.dequeue_up_to(2); }), HasSubstr("[?, 2]"));
  Scalars q;
  EXPECT_THAT(refused([&] { q.queue.dequeue_many(-1); }), HasSubstr("n is -1"));
  EXPECT_THAT(q.dequeue_many(-2).status().message(), HasSubstr("n is -2"));
}

}  // namespace
}  // namespace rondo
