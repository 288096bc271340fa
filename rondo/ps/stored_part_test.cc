// A part by itself, with a log that does what a test needs.
#include "rondo/ps/stored_part.h"

#include <optional>

#include "rondo/ps/test_cluster.h"

namespace rondo {
namespace {

using testing::Each;
using testing::HasSubstr;

// What came of a call.
using Outcome = std::optional<Result<LinkAnswer>>;

struct TestPart {
  explicit TestPart(KvRules with, DType dtype = DType::kF32)
      : rules(std::move(with)), members(rules.workers, seconds(60)) {
    log.keeps = true;
    log.update = [this](const PartUpdate& update) -> Status {
      logged.push_back(update);
      if (while_logged) while_logged();
      return {};
    };
    log.initialize = [this](int64_t, const Tensor&) -> Status {
      if (while_logged) while_logged();
      return {};
    };
    part.emplace(0, kv::AddPart{{"w", dtype, {4}}, 0, 4}, rules, members, log);
  }
  Status initialize(const Tensor& value) {
    StoredPart::Answers answers;
    Status status;
    part->initialize(value, answers, status);
    return status;
  }
  std::shared_ptr<Outcome> push(int worker, int64_t sequence,
                                const Tensor& gradient, uint64_t link = 1,
                                bool pulls = false) {
    auto outcome = std::make_shared<Outcome>();
    StoredPart::Answer answer = [outcome](Result<LinkAnswer> what) {
      EXPECT_FALSE(outcome->has_value()) << "answered twice";
      outcome->emplace(std::move(what));
    };
    StoredPart::Answers answers;
    part->push({worker, link},
               {.sequence = sequence,
                .learning_rate = 1,
                .timeout_ms = 60'000,
                .pulls = pulls},
               {gradient}, answer, answers);
    return outcome;
  }
  std::shared_ptr<Outcome> pull(int64_t step) {
    auto outcome = std::make_shared<Outcome>();
    StoredPart::Answer answer = [outcome](Result<LinkAnswer> what) {
      outcome->emplace(std::move(what));
    };
    StoredPart::Answers answers;
    part->pull({0, 1}, {.step = step, .timeout_ms = 60'000}, {}, answer,
               answers);
    return outcome;
  }
  std::vector<float> value() const { return values(part->image().state.value); }

  KvRules rules;
  Members members;
  StoredPart::Log log;
  std::function<void()> while_logged;
  std::vector<PartUpdate> logged;
  std::optional<StoredPart> part;
};

// A worker that was interrupted uses its memory for something else.
TEST(StoredPart, WhatIsLoggedIsWhatIsMade) {
  TestPart test({.optimizer = adding()});
  Tensor lent = Tensor::full({4}, 1.0f);
  test.while_logged = [&] {
    for (float& x : lent.span<float>()) x = 100;
  };
  ASSERT_TRUE(test.initialize(lent).ok());
  EXPECT_THAT(test.value(), Each(1));
  for (float& x : lent.span<float>()) x = 2;
  const auto outcome = test.push(0, 1, lent);
  ASSERT_TRUE(outcome->has_value() && (*outcome)->ok());
  EXPECT_THAT(values(test.logged.at(0).gradient.values), Each(2));
  EXPECT_THAT(test.value(), Each(-1));
}

// Two steps are complete at once, when the worker that both wait for leaves.
TEST(StoredPart, EachStepOfAReducedKeyHasItsOwnAnswer) {
  TestPart test({.workers = 2});
  const Key key{.name = "w", .shape = {4}, .reduces = ReduceOp::kSum};
  test.part.emplace(0, kv::AddPart{key, 0, 4}, test.rules, test.members,
                    test.log);
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (const float step : {1.0F, 2.0F})
    outcomes.push_back(test.push(0, static_cast<int64_t>(step),
                                 Tensor::full({4}, step), 1, true));
  test.members.leave(1);
  {
    StoredPart::Answers answers;
    test.part->settle(answers);
  }
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(outcomes[i]->has_value() && (*outcomes[i])->ok());
    EXPECT_THAT(values((**outcomes[i])->tensors[0]), Each(i + 1));
  }
}

// An update of integers cannot be made, which is found out behind the log.
TEST(StoredPart, WhatIsLoggedButNotMadeIsTheEnd) {
  TestPart test({.optimizer = adding()}, DType::kI32);
  const Tensor ones = Tensor::full<int32_t>({4}, 1);
  ASSERT_TRUE(test.initialize(ones).ok());
  for (int64_t sequence = 1; sequence <= 2; ++sequence) {
    const auto outcome = test.push(0, sequence, ones);
    ASSERT_TRUE(outcome->has_value());
    EXPECT_THAT((*outcome)->status().message(), HasSubstr("floating point"));
  }
  // The second one did not get the version of the first.
  EXPECT_EQ(test.logged.size(), 1u);
}

// The old link's push may be looked at after the new link's.
TEST(StoredPart, TheNewestLinkIsAnswered) {
  for (const bool old_last : {false, true}) {
    TestPart test({.workers = 2, .optimizer = adding()});
    const Tensor ones = Tensor::full({4}, 1.0f);
    ASSERT_TRUE(test.initialize(ones).ok());
    const auto one = test.push(0, 1, ones, old_last ? 7 : 3);
    const auto two = test.push(0, 1, ones, old_last ? 3 : 7);
    const Outcome& old = old_last ? *two : *one;
    const Outcome& newest = old_last ? *one : *two;
    ASSERT_TRUE(old.has_value());
    EXPECT_EQ(old->status().code(), Code::kUnavailable);
    EXPECT_FALSE(newest.has_value());
    test.push(1, 1, ones);
    ASSERT_TRUE(newest.has_value());
    EXPECT_TRUE(newest->ok());
    EXPECT_THAT(test.value(), Each(0));
  }
}

TEST(StoredPart, AWorkerCannotMakeItKeepAnyAmount) {
  TestPart test({.workers = 2, .optimizer = adding()});
  const Tensor ones = Tensor::full({4}, 1.0f);
  ASSERT_TRUE(test.initialize(ones).ok());
  EXPECT_FALSE(test.push(0, 64, ones)->has_value());
  const auto ahead = test.push(0, 65, ones);
  ASSERT_TRUE(ahead->has_value());
  EXPECT_EQ((*ahead)->status().code(), Code::kMismatch);
  for (int i = 0; i < 1024; ++i) EXPECT_FALSE(test.pull(1)->has_value());
  const auto many = test.pull(1);
  ASSERT_TRUE(many->has_value());
  EXPECT_EQ((*many)->status().code(), Code::kResource);
}

TEST(Members, AnAbandonedLinkIsNotTakenForTheNewest) {
  Members members(1, seconds(60));
  const kv::Hello hello{0, 1, 5, "worker"};
  ASSERT_TRUE(members.come(7, hello).ok());
  EXPECT_EQ(members.come(3, hello).status().code(), Code::kUnavailable);
  EXPECT_EQ(members.worker_of(7), 0);
  EXPECT_EQ(members.worker_of(3), -1);
  members.go(7);
  // Another process.
  EXPECT_TRUE(members.come(8, {0, 1, 6, "worker"}).ok());
}

TEST(Members, WhoHasLeftComesBackOnlyWhenItSaysSo) {
  Members members(1, seconds(60));
  kv::Hello hello{0, 1, 5, "worker"};
  EXPECT_FALSE(members.come(1, hello).value());
  members.leave(0);
  hello.left = true;
  EXPECT_FALSE(members.come(2, hello).value());
  EXPECT_TRUE(members.left(0));
  hello.left = false;
  EXPECT_TRUE(members.come(3, hello).value());
  EXPECT_FALSE(members.left(0));
}

}  // namespace
}  // namespace rondo
