// A part by itself, with a log that does what a test needs.
#include "rondo/ps/stored_part.h"

#include <optional>

#include "rondo/ps/test_cluster.h"

namespace rondo {
namespace {

using testing::Each;
using testing::ElementsAre;
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
                                const Tensor& gradient) {
    auto outcome = std::make_shared<Outcome>();
    StoredPart::Answer answer = [outcome](Result<LinkAnswer> what) {
      EXPECT_FALSE(outcome->has_value()) << "answered twice";
      outcome->emplace(std::move(what));
    };
    StoredPart::Answers answers;
    part->push(worker,
               {.sequence = sequence, .learning_rate = 1, .timeout_ms = 60'000},
               {gradient}, answer, answers);
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

}  // namespace
}  // namespace rondo
