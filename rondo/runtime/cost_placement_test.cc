#include "rondo/runtime/cost_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/host_call.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

using testing::HasSubstr;

std::vector<DeviceInfo> devices(std::initializer_list<std::string_view> names) {
  std::vector<DeviceInfo> infos;
  for (const std::string_view name : names)
    infos.push_back({.name = DeviceName::parse(name).value()});
  return infos;
}

constexpr std::string_view kCpu0 = "/job:localhost/task:0/cpu:0";
constexpr std::string_view kCpu1 = "/job:localhost/task:0/cpu:1";

class CostPlacementTest : public testing::Test {
 protected:
  Subgraph step_of(const Value& fetch) {
    return extract(g_, {}, {{fetch}}, {});
  }
  static std::string at(const Subgraph& step, std::string_view name) {
    return step.graph->find(name)->device();
  }
  // All else took no time.
  static void add_time(Timeline& times, const std::string& node,
                       const std::string& device, double us) {
    times.add({.node = node, .op = "Any", .us = us, .device = device});
  }

  Graph g_;
  CostPlacement placement_{{.devices = devices({kCpu0, kCpu1})}};
};

// Two nodes that look cheap, and their product.
class ReplacementTest : public CostPlacementTest {
 protected:
  ReplacementTest() {
    w_ = variable(g_, constant(g_, 1, DType::kF32), {.name = "w"});
    y_ = make("Mul", {make("Exp", {w_}, {}, "a"), make("Tanh", {w_}, {}, "b")},
              {}, "y");
  }
  // As they are placed: both take long.
  Timeline& slow(const Subgraph& step) {
    add_time(times_, "a", at(step, "a"), 10'000);
    add_time(times_, "fused/b", at(step, "b"), 10'000);
    return times_;
  }
  Value w_, y_;
  Timeline times_;
};

TEST_F(ReplacementTest, TimesMoveNodesButNotVariables) {
  Subgraph first = step_of(y_);
  placement_.place(g_, first).value();
  EXPECT_EQ(at(first, "a"), at(first, "b")) << "not worth a transfer";
  const std::string home = at(first, "w");

  Subgraph again = step_of(y_);
  ASSERT_TRUE(placement_.place_again(g_, slow(first), again).value());
  EXPECT_NE(at(again, "a"), at(again, "b"));
  EXPECT_EQ(at(again, "w"), home);

  // What the step of other fetches has of the variable is there too.
  const Value set = assign_add(w_, constant(g_, 1, DType::kF32));
  Subgraph other = step_of(set);
  placement_.place(g_, other).value();
  EXPECT_EQ(at(other, set.node->name()), home);
}

TEST_F(ReplacementTest, ItStaysWhereNothingIsBetter) {
  Subgraph first = step_of(y_);
  placement_.place(g_, first).value();
  Timeline quick;
  add_time(quick, "a", at(first, "a"), 3);
  Subgraph again = step_of(y_);
  EXPECT_FALSE(placement_.place_again(g_, quick, again).value());
}

// Times of runs after which it is not placed again count when it is: at the
// next power of two, or behind it where nobody had the time then.
TEST_F(ReplacementTest, LearnsFromRunsBetween) {
  Subgraph first = step_of(y_);
  placement_.place(g_, first).value();
  Timeline quick;
  add_time(quick, "a", at(first, "a"), 3);
  const auto after = [&](int64_t run, const Timeline& times) {
    Subgraph step = step_of(y_);
    return placement_.after_run(g_, times, run, step).value();
  };
  EXPECT_FALSE(after(2, quick));
  slow(first);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(after(3, times_));
  EXPECT_TRUE(after(6, quick)) << "run 4 was missed";
}

TEST_F(ReplacementTest, ThePredictionIsOfWhatIsKnownNow) {
  Subgraph first = step_of(y_);
  placement_.place(g_, first).value();
  // One node after the other: there is nothing to gain.
  add_time(times_, "a", at(first, "a"), 10'000);
  Subgraph again = step_of(y_);
  ASSERT_FALSE(placement_.place_again(g_, times_, again).value());
  EXPECT_THAT(placement_.explain(g_, again).value(),
              HasSubstr("predicted step: 10 ms"));
}

TEST_F(ReplacementTest, ItMovesOnce) {
  Subgraph first = step_of(y_);
  placement_.place(g_, first).value();
  Subgraph second = step_of(y_);
  ASSERT_TRUE(placement_.place_again(g_, slow(first), second).value());
  Timeline same;
  add_time(same, "a", at(second, "a"), 10'000);
  add_time(same, "b", at(second, "b"), 10'000);
  Subgraph third = step_of(y_);
  EXPECT_FALSE(placement_.place_again(g_, same, third).value());
  // A later plan of the same nodes is placed as this one was.
  Subgraph fourth = step_of(y_);
  placement_.place(g_, fourth).value();
  EXPECT_EQ(at(fourth, "a"), at(second, "a"));
  EXPECT_EQ(at(fourth, "b"), at(second, "b"));
}

// Its two nodes are on two devices, by their times.
class SplitTest : public ReplacementTest {
 protected:
  SplitTest() {
    Subgraph first = step_of(y_);
    placement_.place(g_, first).value();
    split_ = step_of(y_);
    EXPECT_TRUE(placement_.place_again(g_, slow(first), split_).value());
    from_ = at(split_, "a") == at(split_, "y") ? "b" : "a";
    sent_.add({.node = from_,
               .op = "Any",
               .us = 10'000,
               .device = at(split_, from_),
               .bytes = {4}});
    sent_.add({.node = from_ + "/send",
               .op = "Send",
               .start_us = 10'000,
               .us = 5,
               .device = at(split_, from_)});
  }
  // It waits from the beginning.
  void receive(double until_us) {
    sent_.add({.node = from_ + "/recv",
               .op = "Recv",
               .us = until_us,
               .device = at(split_, "y")});
  }
  void expect_joined() {
    Subgraph again = step_of(y_);
    EXPECT_TRUE(placement_.place_again(g_, sent_, again).value());
    EXPECT_EQ(at(again, "a"), at(again, "b")) << "the link is too slow";
  }

  Subgraph split_;
  std::string from_;
  Timeline sent_;
};

TEST_F(SplitTest, SizesAndTransfersAreLearned) {
  receive(110'000);
  expect_joined();
}

TEST_F(SplitTest, WakingUpIsPartOfATransfer) {
  receive(10'010);
  sent_.add({.node = "y",
             .op = "Mul",
             .start_us = 110'000,
             .us = 1,
             .device = at(split_, "y")});
  expect_joined();
}

// Two nodes of 10 ms, one after the other at first, on devices that slow each
// other.
class ContentionTest : public ReplacementTest {
 protected:
  // Whether they are on two devices once their times are known.
  bool splits(double slower) {
    slower_ = slower;
    placement_.emplace(CostPlacementOptions{.devices = devices({kCpu0, kCpu1}),
                                            .measure_contention = [this] {
                                              ++measured_;
                                              return std::vector{slower_};
                                            }});
    Subgraph first = step_of(y_);
    placement_->place(g_, first).value();
    EXPECT_EQ(measured_, 0) << "there is nothing to place by yet";
    Timeline times;
    times.add({.node = "a", .op = "Exp", .us = 1e4, .device = at(first, "a")});
    times.add({.node = "b",
               .op = "Tanh",
               .start_us = 1e4,
               .us = 1e4,
               .device = at(first, "b")});
    Subgraph again = step_of(y_);
    return placement_->place_again(g_, times, again).value();
  }
  std::optional<CostPlacement> placement_;
  double slower_ = 1;
  int measured_ = 0;
};

TEST_F(ContentionTest, DecidesWhetherToSplit) {
  EXPECT_TRUE(splits(1.2));
  measured_ = 0;
  EXPECT_FALSE(splits(1.9)) << "it gains less than a tenth";
}

TEST_F(ContentionTest, IsTakenOutOfWhatIsMeasured) {
  ASSERT_TRUE(splits(1.2));
  // As predicted: both at once take 12 ms.
  Timeline times;
  for (const char* node : {"a", "b"})
    times.add(
        {.node = node,
         .op = "Any",
         .us = 1.2e4,
         .device = std::string(node == std::string("a") ? kCpu0 : kCpu1)});
  Subgraph again = step_of(y_);
  EXPECT_FALSE(placement_->place_again(g_, times, again).value());
  const std::string text = placement_->explain(g_, again).value();
  EXPECT_THAT(text, HasSubstr("predicted step: 12"));
  EXPECT_THAT(text, HasSubstr("1.20 times where there are two"));
  EXPECT_EQ(measured_, 2);
}

// One that was measured while another program ran is not believed for ever.
TEST_F(ContentionTest, IsTheMiddleOneOfTheLastMeasurements) {
  splits(1.9);
  slower_ = 1.3;
  for (int i = 0; i < 2; ++i) {
    Subgraph again = step_of(y_);
    placement_->place_again(g_, Timeline(), again).value();
  }
  Subgraph step = step_of(y_);
  EXPECT_THAT(placement_->explain(g_, step).value(),
              HasSubstr("1.30 times where there are two"));
}

TEST_F(CostPlacementTest, WhereAVariableAsksToBe) {
  Value v;
  {
    const DeviceScope device(g_, "/cpu:1");
    v = variable(g_, constant(g_, 1, DType::kF32), {.name = "v"});
  }
  // The node that says where the variable is, is not in this step.
  const DeviceScope device(g_, "/cpu:0");
  const Value set = assign(v, constant(g_, 2, DType::kF32));
  Subgraph step = step_of(set);
  placement_.place(g_, step).value();
  EXPECT_EQ(at(step, set.node->name()), kCpu1);
}

// A tensor that went from one task to another in 2 ms is held back by as much
// time; one that was not measured, or that is handed over, is not.
TEST_F(CostPlacementTest, OnlyMeasuredTransfersAreHeldBack) {
  const std::string a = "/job:a/task:0/cpu:0", b = "/job:a/task:1/cpu:0";
  CostPlacement two({.devices = devices({a, b, "/job:a/task:0/cpu:1"})});
  const auto seconds = [&](const std::string& from, const std::string& to) {
    return two.delays().transfer_time({.from = from, .to = to}, 4);
  };
  {
    const DeviceScope scope(g_, a);
    make("Fill", {constant_ints(g_, {}), constant(g_, 1, DType::kF32)}, {},
         "v");
  }
  const DeviceScope scope(g_, b);
  const Value y = make("Exp", {g_.find("v")->output()}, {}, "y");
  Subgraph step = step_of(y);
  ASSERT_TRUE(two.place(g_, step).ok());
  EXPECT_EQ(seconds(a, b), 0);
  Timeline times;
  times.add({.node = "v", .op = "Fill", .us = 10, .device = a, .bytes = {4}});
  times.add({.node = "v/send", .op = "Send", .start_us = 10, .device = a});
  times.add({.node = "v/recv", .op = "Recv", .us = 2010, .device = b});
  times.add(
      {.node = "y", .op = "Exp", .start_us = 2010, .us = 500, .device = b});
  Subgraph again = step_of(y);
  EXPECT_FALSE(two.place_again(g_, times, again).value());
  EXPECT_NEAR(seconds(a, b), 2e-3, 1e-4);
  EXPECT_EQ(seconds(b, a), 0) << "nothing went there";
  EXPECT_EQ(seconds(a, "/job:a/task:0/cpu:1"), 0);
  EXPECT_EQ(seconds(a, "/job:b/task:0/cpu:0"), 0) << "is not the session's";
  EXPECT_NEAR(two.delays().run_time(*again.graph->find("y")), 5e-4, 1e-9);
}

TEST_F(CostPlacementTest, WhatComputesTheSameIsOneNode) {
  const Value w = variable(g_, constant(g_, 1, DType::kF32), {.name = "w"});
  const Value y = make(
      "Mul", {make("Exp", {w}, {}, "a"), make("Exp", {w}, {}, "b")}, {}, "y");
  Subgraph step = step_of(y);
  placement_.place(g_, step).value();
  const Node& product = *step.graph->find("y");
  EXPECT_EQ(product.inputs()[0], product.inputs()[1]);
  Subgraph other = step_of(y);
  EXPECT_THAT(placement_.explain(g_, other).value(),
              HasSubstr("the step does not run it"));
}

TEST_F(CostPlacementTest, FunctionsOfTheProgramStayInItsProcess) {
  CostPlacement two(
      {.devices = devices({"/job:a/task:0/cpu:0", "/job:a/task:1/cpu:0"})});
  const auto call = [&](const std::string& device) {
    const DeviceScope scope(g_, device);
    return host_call(g_, [](auto) { return std::vector<Tensor>(); }, {},
                     {DType::kF32})[0];
  };
  Subgraph here = step_of(call(""));
  two.place(g_, here).value();
  EXPECT_EQ(here.graph->nodes()[0]->device(), "/job:a/task:0/cpu:0");
  Subgraph there = step_of(call("/task:1"));
  EXPECT_FALSE(two.place(g_, there).ok());
}

TEST_F(CostPlacementTest, ExplainsWithoutPlacing) {
  const Value v = variable(g_, constant(g_, 1, DType::kF32), {.name = "v"});
  Subgraph step = step_of(v);
  EXPECT_THAT(placement_.explain(g_, step).value(),
              HasSubstr("v     Variable"));
}

TEST_F(CostPlacementTest, TimesFewRuns) {
  std::vector<int> timed;
  for (int run = 1; run < 10'000; ++run)
    if (CostPlacement::wants_times(run)) timed.push_back(run);
  // The first run has what happens once.
  EXPECT_EQ(std::vector(timed.begin(), timed.begin() + 8),
            (std::vector{2, 3, 4, 6, 7, 8, 14, 15}));
  EXPECT_EQ(timed.size(), 27);
  EXPECT_EQ(timed.back(), 1024);
}

}  // namespace
}  // namespace rondo
