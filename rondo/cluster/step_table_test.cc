#include "rondo/cluster/step_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace rondo {
namespace {

using testing::HasSubstr;
using Parcel = Rendezvous::Parcel;

// Keys that begin with "far" are sent on another task.
struct Table {
  std::shared_ptr<StepTable> table = std::make_shared<StepTable>(
      [](const std::string& key) { return !key.starts_with("far"); },
      [this](int64_t step, const std::string& key, Rendezvous::Done done) {
        asked = fmt::format("{} {}", step, key);
        answer = std::move(done);
      });
  std::string asked;
  Rendezvous::Done answer;
};

struct Taken {
  std::optional<Result<Parcel>> parcel;
  Rendezvous::Done done() {
    return [this](Result<Parcel> p) { parcel.emplace(std::move(p)); };
  }
};

Parcel number(float x) { return {Tensor::full<float>({}, x), false}; }

TEST(StepTable, SendAndGetInEitherOrder) {
  Table t;
  auto step = t.table->rendezvous(1);
  Taken early, late;
  t.table->get(1, "a", early.done());
  EXPECT_FALSE(early.parcel);
  ASSERT_TRUE(step->send("a", number(2)).ok());
  EXPECT_EQ((*early.parcel)->tensor.span<float>()[0], 2);
  ASSERT_TRUE(step->send("b", {{}, true}).ok());
  step->recv("b", late.done());
  EXPECT_TRUE((*late.parcel)->dead);
}

TEST(StepTable, AsksOtherTasks) {
  Table t;
  Taken taken;
  auto step = t.table->rendezvous(3);
  step->recv("far/x", taken.done());
  EXPECT_EQ(t.asked, "3 far/x");
  t.answer(number(4));
  EXPECT_EQ((*taken.parcel)->tensor.span<float>()[0], 4);
}

TEST(StepTable, AbortDoesNotWaitForOtherTasks) {
  Table t;
  Taken taken;
  auto step = t.table->rendezvous(3);
  step->recv("far/x", taken.done());
  step->abort(error(Code::kCancelled, "enough"));
  EXPECT_EQ(taken.parcel->status().message(), "enough");
  t.answer(number(4));  // comes to nobody
  EXPECT_FALSE(taken.parcel->ok());
}

TEST(StepTable, StepsGoWhenAllIsTaken) {
  Table t;
  ASSERT_TRUE(t.table->rendezvous(1)->send("a", number(2)).ok());
  EXPECT_EQ(t.table->size(), 1u);  // somebody will ask for it
  Taken taken, late;
  t.table->get(1, "a", taken.done());
  EXPECT_TRUE(taken.parcel->ok());
  EXPECT_EQ(t.table->size(), 0u);
  t.table->get(1, "a", late.done());
  EXPECT_THAT(late.parcel->status().message(), HasSubstr("is over"));
  EXPECT_EQ(t.table->size(), 0u);
}

TEST(StepTable, WhatIsNeverSentIsNotWaitedFor) {
  Table t;
  auto step = t.table->rendezvous(1);
  Taken taken;
  t.table->get(1, "a", taken.done());
  step.reset();
  EXPECT_THAT(taken.parcel->status().message(),
              HasSubstr("did not send \"a\""));
}

TEST(StepTable, AbortReachesThoseWhoWaitAndThoseWhoCome) {
  Table t;
  auto step = t.table->rendezvous(1);
  Taken before, after, inside;
  t.table->get(1, "a", before.done());
  t.table->abort(1, error(Code::kPeerLost, "task 2 died"));
  t.table->get(1, "b", after.done());
  step->recv("far/c", inside.done());
  EXPECT_EQ(before.parcel->status().message(), "task 2 died");
  EXPECT_EQ(after.parcel->status().message(), "task 2 died");
  EXPECT_EQ(inside.parcel->status().message(), "task 2 died");
  EXPECT_EQ(t.asked, "");
  EXPECT_EQ(step->send("d", number(1)).message(), "task 2 died");
  // Also where the step has not begun.
  t.table->abort(9, error(Code::kPeerLost, "task 3 died"));
  EXPECT_EQ(t.table->rendezvous(9)->send("d", number(1)).message(),
            "task 3 died");
  EXPECT_EQ(t.table->size(), 0u);
}

TEST(StepTable, TwiceIsAMistake) {
  Table t;
  Taken one, two;  // outlive the step, whose end answers who still waits
  auto step = t.table->rendezvous(1);
  ASSERT_TRUE(step->send("a", number(1)).ok());
  EXPECT_EQ(step->send("a", number(1)).code(), Code::kInternal);
  step->recv("b", one.done());
  step->recv("b", two.done());
  EXPECT_FALSE(one.parcel);
  EXPECT_EQ(two.parcel->status().code(), Code::kInternal);
}

}  // namespace
}  // namespace rondo
