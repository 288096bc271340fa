#include "rondo/kernels/exchange_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "rondo/kernels/recording_exchange.h"

namespace rondo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Log : ExchangeLog {
  std::mutex mutex;
  std::vector<int> issued;
};

class ExchangeGroupTest : public testing::Test {
 protected:
  // Notes the number in its turn.
  std::future<Status> submit(ExchangeRun& run, int sequence, int number) {
    return submit_to(*group, run, sequence, cancellation,
                     [log = log, number](Exchange&) {
                       const std::lock_guard lock(log->mutex);
                       log->issued.push_back(number);
                       return Status();
                     });
  }
  void expect(ExchangeRun& run, std::initializer_list<int64_t> sequences) {
    for (const int64_t sequence : sequences)
      group->expect(run, {.sequence = sequence});
  }

  std::shared_ptr<Log> log = std::make_shared<Log>();
  std::shared_ptr<ExchangeGroup> group = std::make_shared<ExchangeGroup>(
      "group", std::make_unique<RecordingExchange>(log));
  Cancellation cancellation;
};

TEST_F(ExchangeGroupTest, IssuesByNumberWhicheverIsReadyFirst) {
  ExchangeRun run;
  expect(run, {7, 3, 5});
  auto last = submit(run, 7, 7);
  auto middle = submit(run, 5, 5);
  auto first = submit(run, 3, 3);
  EXPECT_TRUE(last.get().ok());
  EXPECT_TRUE(middle.get().ok());
  EXPECT_TRUE(first.get().ok());
  group->end(run, {});
  EXPECT_THAT(log->issued, ElementsAre(3, 5, 7));
  EXPECT_THAT(log->aborts, IsEmpty());
}

TEST_F(ExchangeGroupTest, IssuesByRunInTheOrderOfTheirBeginning) {
  ExchangeRun early;
  ExchangeRun late;
  expect(early, {0, 1});
  expect(late, {0});
  auto of_late = submit(late, 0, 10);
  auto first = submit(early, 0, 0);
  auto second = submit(early, 1, 1);
  EXPECT_TRUE(of_late.get().ok());
  EXPECT_THAT(log->issued, ElementsAre(0, 1, 10));
  EXPECT_TRUE(first.get().ok());
  EXPECT_TRUE(second.get().ok());
  group->end(early, {});
  group->end(late, {});
}

TEST_F(ExchangeGroupTest, WhatIsLeftOutHoldsNothingUp) {
  ExchangeRun run;
  expect(run, {0, 1});
  auto second = submit(run, 1, 1);
  group->leave_out(run, 0);
  EXPECT_TRUE(second.get().ok());
  group->end(run, {});
  ExchangeRun next;
  expect(next, {0});
  group->leave_out(next, 0);
  group->end(next, {});
  EXPECT_THAT(log->issued, ElementsAre(1));
  EXPECT_THAT(log->aborts, IsEmpty());
}

TEST_F(ExchangeGroupTest, ARunThatFailsBetweenItsExchangesEndsTheGroup) {
  ExchangeRun run;
  expect(run, {0, 1, 2});
  EXPECT_TRUE(submit(run, 0, 0).get().ok());
  auto held = submit(run, 2, 2);
  const Status reason = error(Code::kInvalidArgument, "a bad number");
  cancellation.cancel(reason);
  EXPECT_EQ(held.get().message(), "a bad number");
  // One that comes after that does not wait either.
  EXPECT_EQ(submit(run, 1, 1).get().message(), "a bad number");
  group->end(run, reason);
  EXPECT_THAT(log->issued, ElementsAre(0));
  EXPECT_THAT(log->aborts, ElementsAre(HasSubstr("a bad number")));
}

TEST_F(ExchangeGroupTest, ARunThatFailsBeforeItsExchangesEndsItToo) {
  ExchangeRun run;
  expect(run, {0});
  group->end(run, error(Code::kInvalidArgument, "a bad number"));
  EXPECT_THAT(log->aborts, ElementsAre(HasSubstr("a bad number")));
}

TEST_F(ExchangeGroupTest, TheEndOfDataBeforeTheFirstExchangeDoesNot) {
  ExchangeRun run;
  expect(run, {0, 1});
  group->end(run, error(Code::kOutOfRange, "no more"));
  EXPECT_THAT(log->aborts, IsEmpty());
  ExchangeRun next;
  expect(next, {0});
  EXPECT_TRUE(submit(next, 0, 0).get().ok());
  group->end(next, {});
}

TEST_F(ExchangeGroupTest, AfterTheFirstExchangeItDoes) {
  ExchangeRun run;
  expect(run, {0, 1});
  EXPECT_TRUE(submit(run, 0, 0).get().ok());
  group->end(run, error(Code::kOutOfRange, "no more"));
  EXPECT_THAT(log->aborts, ElementsAre(HasSubstr("no more")));
}

TEST_F(ExchangeGroupTest, ACancelledExchangeUnderWayIsAborted) {
  ExchangeRun run;
  expect(run, {0});
  std::promise<void> started;
  std::promise<void> ended;
  std::promise<Status> result;
  group->submit(
      run, 0, cancellation,
      [&](Exchange&) {
        started.set_value();
        ended.get_future().wait();
        return error(Code::kCancelled, "aborted");
      },
      [&](Status status) { result.set_value(std::move(status)); });
  started.get_future().wait();
  cancellation.cancel(error(Code::kTimeout, "too late"));
  EXPECT_THAT(log->aborts, ElementsAre(HasSubstr("too late")));
  ended.set_value();
  EXPECT_EQ(result.get_future().get().message(), "aborted");
  group->end(run, error(Code::kTimeout, "too late"));
}

TEST_F(ExchangeGroupTest, ACancelledExchangeOfAClosedGroupEndsOnce) {
  ExchangeRun run;
  expect(run, {0});
  std::promise<void> started;
  std::promise<void> ended;
  std::promise<Status> result;  // set twice, it would throw
  group->submit(
      run, 0, cancellation,
      [&](Exchange&) {
        started.set_value();
        ended.get_future().wait();
        return error(Code::kCancelled, "aborted");
      },
      [&](Status status) { result.set_value(std::move(status)); });
  started.get_future().wait();
  group->close();
  auto over = result.get_future();
  cancellation.cancel(error(Code::kTimeout, "too late"));
  EXPECT_EQ(over.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
      << "it still runs";
  ended.set_value();
  EXPECT_EQ(over.get().message(), "aborted");
  group->end(run, error(Code::kTimeout, "too late"));
}

TEST_F(ExchangeGroupTest, AnExchangeThatFailsHereEndsTheGroup) {
  ExchangeRun run;
  expect(run, {0});
  std::promise<Status> result;
  group->submit(
      run, 0, cancellation,
      [](Exchange&) { return error(Code::kInvalidArgument, "no such rows"); },
      [&](Status status) { result.set_value(std::move(status)); });
  EXPECT_FALSE(result.get_future().get().ok());
  EXPECT_THAT(log->aborts, ElementsAre(HasSubstr("no such rows")));
  group->end(run, {});
}

TEST_F(ExchangeGroupTest, ARunThatFailsBehindItsExchangesEndsIt) {
  ExchangeRun run;
  expect(run, {0});
  EXPECT_TRUE(submit(run, 0, 0).get().ok());
  group->end(run, error(Code::kTimeout, "an update was late"));
  EXPECT_THAT(log->aborts, ElementsAre(HasSubstr("an update was late")));
}

TEST_F(ExchangeGroupTest, AnExchangeThatComesTwiceIsAnError) {
  ExchangeRun run;
  expect(run, {0, 1});
  EXPECT_TRUE(submit(run, 0, 0).get().ok());
  EXPECT_THAT(submit(run, 0, 0).get().message(), HasSubstr("comes twice"));
  EXPECT_TRUE(submit(run, 1, 1).get().ok());
  group->end(run, {});
}

TEST_F(ExchangeGroupTest, IsFoundByNameWhileItLives) {
  EXPECT_FALSE(ExchangeGroup::find("group").ok());
  ExchangeGroup::publish(group).value();
  EXPECT_EQ(ExchangeGroup::find("group").value(), group);
  auto other = std::make_shared<ExchangeGroup>(
      "group", std::make_unique<RecordingExchange>(log));
  EXPECT_FALSE(ExchangeGroup::publish(other).ok());
  group.reset();
  ExchangeGroup::publish(other).value();
}

// Keeps reductions under way until somebody ends them.
class Keeper final : public Exchange {
 public:
  struct Kept {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Done> begun;   // guarded
    bool gone = false;         // guarded
    std::thread::id ended_on;  // guarded
    // The n-th that began, once it has.
    Done end_of(size_t n) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return begun.size() > n; });
      return begun[n];
    }
    void wait_until_gone() {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return gone; });
    }
  };
  explicit Keeper(std::shared_ptr<Kept> kept) : kept_(std::move(kept)) {}
  ~Keeper() override {
    const std::lock_guard lock(kept_->mutex);
    kept_->gone = true;
    kept_->ended_on = std::this_thread::get_id();
    kept_->changed.notify_all();
  }
  int rank() const override { return 0; }
  int size() const override { return 2; }
  Status all_reduce(std::span<Tensor>, const ReduceTerms&) override {
    return error(Code::kInternal, "only begun");
  }
  void begin_all_reduce(std::vector<Tensor>, const ReduceTerms&,
                        const Done& done) override {
    const std::lock_guard lock(kept_->mutex);
    kept_->begun.push_back(done);
    kept_->changed.notify_all();
  }
  Status all_gather(Tensor&, DType, Allocator&) override { return {}; }
  Status all_gather_rows(Tensor&, Tensor&, Allocator&) override { return {}; }
  Status broadcast(std::span<Tensor>, int) override { return {}; }
  void abort(const std::string&) override {}

 private:
  std::shared_ptr<Kept> kept_;
};

class KeptGroupTest : public testing::Test {
 protected:
  std::future<Status> submit(ExchangeRun& run, int64_t sequence) {
    auto promise = std::make_shared<std::promise<Status>>();
    group->submit(run, sequence, cancellation, tensors,
                  [promise](Status status) { promise->set_value(status); });
    return promise->get_future();
  }

  std::vector<Tensor> tensors = {Tensor::zeros({1})};
  std::shared_ptr<Keeper::Kept> kept = std::make_shared<Keeper::Kept>();
  std::shared_ptr<ExchangeGroup> group =
      std::make_shared<ExchangeGroup>("group", std::make_unique<Keeper>(kept));
  Cancellation cancellation;
};

TEST_F(KeptGroupTest, ReductionsBeginWhileOthersAreUnderWay) {
  ExchangeRun run;
  for (const int64_t sequence : {0, 1}) group->expect(run, {sequence});
  auto first = submit(run, 0), second = submit(run, 1);
  kept->end_of(1)({});
  EXPECT_TRUE(second.get().ok());
  kept->end_of(0)(error(Code::kTimeout, "too late"));
  EXPECT_EQ(first.get().message(), "too late");
  group->end(run, {});
}

// Whoever ends the last of a closed group does not end its exchange, of whose
// threads it may be one.
TEST_F(KeptGroupTest, AGroupThatIsClosedMeanwhileEndsOnItsOwnThread) {
  ExchangeRun run;
  group->expect(run, {.sequence = 0});
  auto end = submit(run, 0);
  const auto done = kept->end_of(0);
  group->close();
  {
    const std::lock_guard lock(kept->mutex);
    EXPECT_FALSE(kept->gone);
  }
  done({});
  EXPECT_TRUE(end.get().ok());
  kept->wait_until_gone();
  {
    const std::lock_guard lock(kept->mutex);
    EXPECT_NE(kept->ended_on, std::this_thread::get_id());
  }
  group->end(run, {});
}

TEST_F(ExchangeGroupTest, WhatComesAfterTheEndFails) {
  ExchangeRun run;
  expect(run, {0});
  group->close();
  EXPECT_THAT(submit(run, 0, 0).get().message(), HasSubstr("is closed"));
  group->end(run, {});
}

}  // namespace
}  // namespace rondo
