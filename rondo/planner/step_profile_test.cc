#include "rondo/planner/step_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rondo/base/memory_limit.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"
#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/dataset.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/exchange.h"
#include "rondo/graph/ops/gathering.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/pool.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/planner/model_workload.h"
#include "rondo/planner/step_clock.h"

namespace rondo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two layers of 8, of what inputs() gives and so wide; `changed` is what the
// loss is made of.
TrainingStep step_of(
    const std::shared_ptr<Graph>& graph,
    const std::function<Value(Graph&)>& inputs,
    const std::function<Value(Value)>& changed = [](Value y) { return y; }) {
  Value y = inputs(*graph);
  for (const char* name : {"first", "second"})
    y = matmul(y, variable(*graph, fill(*graph, {8, 8}, 0.01), {.name = name}));
  GradientDescent sgd({.learning_rate = 0.01});
  sgd.minimize(reduce_mean(changed(y)));
  return find_step(graph, "test").value();
}

TrainingStep step_of(const std::function<Value(Graph&)>& inputs) {
  return step_of(std::make_shared<Graph>(), inputs);
}

Value rows_of_8(Graph& graph) {
  return placeholder(graph, {.shape = PartialShape({kAny, 8}), .name = "x"});
}

std::string said(const TrainingStep& step, ProfileOptions options = {}) {
  options.seconds = 0;
  return profile_step(step, options).status().message();
}

TEST(StepProfile, EveryGradientOfAModelIsSeen) {
  for (const char* model : {"mlp", "lenet", "lstm"}) {
    const TrainingStep step = model_step(model).value();
    const auto profile = profile_step(step, {.batch = 4, .seconds = 0.01});
    ASSERT_TRUE(profile.ok()) << profile.status().message();
    EXPECT_GT(profile->seconds, 0) << model;
    const StepClock clock(step, profile->nodes);
    const auto place = [&](const Node& node) {
      return std::ranges::find(profile->nodes, &node, &NodeTime::node);
    };
    for (const GradientAndVariable& one : step.gradients) {
      const Node& gradient = *one.gradient.values.node;
      EXPECT_NE(place(gradient), profile->nodes.end())
          << model << ": " << gradient.describe();
      for (const Value& input : gradient.inputs()) {
        if (place(*input.node) == profile->nodes.end()) continue;
        EXPECT_LT(place(*input.node), place(gradient))
            << model << ": " << gradient.describe();
      }
      EXPECT_GT(clock.share(gradient), 0) << gradient.describe();
      EXPECT_LT(clock.share(gradient), 1) << gradient.describe();
      EXPECT_GT(clock.update_share(one.variable), 0) << gradient.describe();
    }
  }
}

TEST(StepProfile, ThreeKindsOfInputsAreFed) {
  const TrainingStep placed = step_of(rows_of_8);
  EXPECT_EQ(profile_step(placed, {.batch = 3, .seconds = 0}).value().fed,
            "with x [3, 8] = 0.1");
  const TrainingStep iterated = step_of([](Graph& graph) {
    return iterator_get_next(graph, {{DType::kF32, PartialShape({kAny, 8})}},
                             {.iterator = "data", .name = "next"})[0];
  });
  EXPECT_EQ(profile_step(iterated, {.batch = 3, .seconds = 0}).value().fed,
            "with next [3, 8] = 0.1");
  const TrainingStep queued = step_of([](Graph& graph) {
    const FIFOQueue queue(graph, {DType::kF32},
                          {.shapes = {Shape{8}}, .name = "queue"});
    return queue.dequeue_many(5)[0];
  });
  EXPECT_THAT(profile_step(queued, {.batch = 3, .seconds = 0}).value().fed,
              HasSubstr("[5, 8] = 0.1"));
}

TEST(StepProfile, InputsAreGivenByName) {
  const TrainingStep step =
      step_of(std::make_shared<Graph>(), rows_of_8, [](Value y) {
        const Value on = placeholder(
            y.graph(), {.dtype = DType::kBool, .shape = Shape{}, .name = "on"});
        const Value by = placeholder(
            y.graph(), {.dtype = DType::kI64, .shape = Shape{}, .name = "by"});
        return y * cast(by, DType::kF32) * cast(on, DType::kF32);
      });
  auto profile =
      profile_step(step, {.batch = 2, .feeds = {"by=-7"}, .seconds = 0});
  EXPECT_EQ(profile.value().fed, "with x [2, 8] = 0.1, on [] = 1, by [] = -7");
  for (const char* bad :
       {"by=0.5", "by=nan", "by=1e30", "on=2", "x=inf", "x=1e300"})
    EXPECT_THAT(said(step, {.feeds = {bad}}), HasSubstr("another number"))
        << bad;
  EXPECT_THAT(said(step, {.feeds = {"off=1"}}),
              AllOf(HasSubstr("no input of that name"), HasSubstr("on []")));
  for (const char* bad : {"by", "by=", "by=x", "by=1x"})
    EXPECT_THAT(said(step, {.feeds = {bad}}), HasSubstr("--feed by")) << bad;
  const TrainingStep none = step_of([](Graph& graph) {
    return fill(graph, {2, 8}, 0.5);
  });
  EXPECT_THAT(said(none, {.feeds = {"off=1"}}), HasSubstr("it takes none"));
}

// As before anything is measured.
TEST(StepProfile, IsCheckedWithoutBeingRun) {
  const TrainingStep step = step_of(rows_of_8);
  EXPECT_TRUE(check_profile(step, {.batch = 2}).ok());
  EXPECT_THAT(check_profile(step, {.feeds = {"off=1"}}).message(),
              HasSubstr("no input of that name"));
  EXPECT_THAT(check_profile(step, {.batch = 1'000'000'000'000}).message(),
              HasSubstr("smaller --batch"));
}

// What nobody said the shape of is a scalar where a number is given for it.
TEST(StepProfile, AnInputWithoutRankMayBeAScalar) {
  const TrainingStep step = step_of(
      std::make_shared<Graph>(), rows_of_8,
      [](Value y) { return y * placeholder(y.graph(), {.name = "keep"}); });
  EXPECT_THAT(said(step), AllOf(HasSubstr("no rank"), HasSubstr("keep=1")));
  auto profile = profile_step(step, {.feeds = {"keep=0.5"}, .seconds = 0});
  EXPECT_THAT(profile.value().fed, HasSubstr("keep [] = 0.5"));
}

// Only what the step takes has to have a shape.
TEST(StepProfile, OutputsThatNobodyTakesAreNotFed) {
  const TrainingStep step = step_of([](Graph& graph) {
    return iterator_get_next(
        graph,
        {{DType::kF32, PartialShape({kAny, 8})}, {DType::kF32, PartialShape()}},
        {.iterator = "data", .name = "next"})[0];
  });
  EXPECT_EQ(profile_step(step, {.batch = 3, .seconds = 0}).value().fed,
            "with next [3, 8] = 0.1");
}

TEST(StepProfile, VariablesMayStartAsWhatIsFed) {
  const TrainingStep step =
      step_of(std::make_shared<Graph>(), rows_of_8, [](Value y) {
        const Value start =
            placeholder(y.graph(), {.shape = Shape{8, 4}, .name = "embedding"});
        return matmul(y, variable(y.graph(), start, {.name = "embedded"}));
      });
  EXPECT_THAT(profile_step(step, {.batch = 3, .seconds = 0}).value().fed,
              HasSubstr("embedding [8, 4] = 0.1"));
}

TEST(StepProfile, DevicesThatAreNotHereDoNotMatter) {
  const TrainingStep step = step_of(rows_of_8);
  for (const auto& node : step.graph->nodes())
    node->set_device(node->op().name == "Variable"
                         ? "/job:ps/task:0/cpu:0"
                         : "/job:worker/task:1/gpu:0");
  EXPECT_EQ(said(step), "");
}

// A loop that runs as often as it is told to takes its time of a step.
TEST(StepProfile, LoopsTakeTheirTime) {
  const TrainingStep step =
      step_of(std::make_shared<Graph>(), rows_of_8, [](Value y) {
        const Value times =
            placeholder(y.graph(), {.shape = Shape{}, .name = "times"});
        const Values ended = while_loop(
            [&](const Values& v) { return less(v[0], times); },
            [](const Values& v) {
              return Values{v[0] + constant(v[0].graph(), 1, DType::kF32),
                            v[1] * v[1]};
            },
            {constant(y.graph(), 0, DType::kF32), y});
        return ended[1];
      });
  const auto node_seconds = [&](const char* times) {
    auto profile =
        profile_step(step, {.batch = 2, .feeds = {times}, .seconds = 0.2});
    return total_seconds(profile.value().nodes);
  };
  EXPECT_GT(node_seconds("times=300"), 5 * node_seconds("times=1"));
}

TEST(StepProfile, AGradientMayBeAnInput) {
  const auto graph = std::make_shared<Graph>();
  const Value w = variable(*graph, fill(*graph, {8}, 0.1), {.name = "w"});
  const Value given =
      placeholder(*graph, {.shape = Shape{8}, .name = "gradient"});
  GradientDescent({.learning_rate = 0.1}).apply_gradients({{given, w}});
  const auto profile =
      profile_step(find_step(graph, "test").value(), {.seconds = 0});
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->fed, "with gradient [8] = 0.1");
}

// A table of 60 % of the memory is one, however many nodes hand it on; and
// images that are halved five times have fewer pixels than that many open
// extents say.
TEST(StepProfile, MemoryIsOnlyCountedOnce) {
  const auto rows = static_cast<int64_t>(0.6 * memory_limit() / 4096);
  const auto graph = std::make_shared<Graph>();
  const Value table =
      variable(*graph, fill(*graph, {rows, 1024}, 0), {.name = "table"});
  const Value words = placeholder(
      *graph, {.dtype = DType::kI64, .shape = PartialShape({kAny})});
  Value images =
      placeholder(*graph, {.shape = PartialShape({kAny, kAny, kAny, 3})});
  PoolOptions halving;
  halving.strides = {2, 2};
  for (int i = 0; i < 5; ++i) images = avg_pool(images, halving);
  const Value w =
      variable(*graph, fill(*graph, {1, 1, 3, 4096}, 0), {.name = "w"});
  GradientDescent({.learning_rate = 0.1})
      .minimize(reduce_mean(embedding_lookup(table, words)) +
                reduce_mean(conv2d(images, w)));
  const Status status =
      check_profile(find_step(graph, "test").value(), {.batch = 400});
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(StepProfile, WhatCannotRunIsExplained) {
  EXPECT_THAT(said(step_of([](Graph& graph) {
                const Value any = placeholder(graph, {.name = "any"});
                return reshape(any, Ints{-1, 8});
              })),
              AllOf(HasSubstr("\"any\""), HasSubstr("no rank"),
                    HasSubstr("--step-time 0.55")));
  EXPECT_THAT(
      said(step_of(std::make_shared<Graph>(), rows_of_8,
                   [](Value y) {
                     return y * stop_gradient(all_reduce({y}, {.group = "all"},
                                                         true, DType::kF32)[0]);
                   })),
      AllOf(HasSubstr("waits for others"), HasSubstr("AllReduce"),
            HasSubstr("one process")));
  const TrainingStep behind =
      step_of(std::make_shared<Graph>(), rows_of_8, [](Value y) {
        const FIFOQueue queue(y.graph(), {DType::kF32},
                              {.shapes = {Shape{8}}, .name = "queue"});
        y.node->add_control_input(*queue.dequeue_many(5)[0].node);
        return y;
      });
  EXPECT_THAT(said(behind), AllOf(HasSubstr("control dependency"),
                                  HasSubstr("QueueDequeueMany")));
  EXPECT_THAT(said(step_of(rows_of_8), {.batch = int64_t{1} << 50}),
              AllOf(HasSubstr("of memory"), HasSubstr("smaller --batch")));
}

}  // namespace
}  // namespace rondo
