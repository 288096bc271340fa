#include "rondo/cluster/worker_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "rondo/cluster/methods.h"
#include "rondo/cluster/part_io.h"

namespace rondo {
namespace {

using testing::HasSubstr;

constexpr uint64_t kLink = 5;

// Sends one tensor in each step, which is over then.
class SendingWorker final : public Worker {
 public:
  explicit SendingWorker(StepTable& steps) : steps_(steps) {}
  std::vector<std::string> devices() const override { return {}; }
  Result<int64_t> add(std::vector<Part> /*parts*/, Deadline,
                      const Cancellation&) override {
    if (breaks) throw std::length_error("what nobody thought of");
    return 1;
  }
  void remove(int64_t /*graph*/) override {}
  void run(StepCall call, Done done) override {
    steps_.rendezvous(call.step)->send("x", {Tensor::zeros({2})}).value();
    done(std::vector<Tensor>());
  }
  void cancel(int64_t step, const Status& why) override {
    steps_.abort(step, why);
  }

  bool breaks = false;

 private:
  StepTable& steps_;
};

class WorkerServiceTest : public testing::Test {
 protected:
  Result<LinkAnswer> call(CallMethod method, wire::Writer body,
                          std::vector<Tensor> tensors = {}) {
    auto answered = std::make_shared<std::promise<Result<LinkAnswer>>>();
    LinkCall what{number(method), body.take(), std::move(tensors)};
    LinkServer::Answer answer = [answered](Result<LinkAnswer> result) {
      answered->set_value(std::move(result));
    };
    EXPECT_TRUE(service_.serve(kLink, what, answer));
    return answered->get_future().get();
  }
  Result<LinkAnswer> add() {
    return call(CallMethod::kAdd, wire::Writer().number(kNoLimit),
                {parts_to_tensor({})});
  }
  Result<LinkAnswer> run(int64_t step) {
    return call(
        CallMethod::kRun,
        wire::Writer().number(1).number(step).number(kNoLimit).number(0));
  }
  Result<LinkAnswer> get(int64_t step) {
    return call(CallMethod::kGet, wire::Writer().number(step).text("x"));
  }

  std::shared_ptr<StepTable> steps_ = std::make_shared<StepTable>(
      [](const std::string&) { return true; },
      [](int64_t, const std::string&, const Rendezvous::Done&) {});
  SendingWorker worker_{*steps_};
  RunThreads threads_;
  WorkerService service_{worker_, *steps_, threads_,
                         [](const auto&, Deadline) { return Status(); }};
};

TEST_F(WorkerServiceTest, WhatNobodyTookGoesWithTheMaster) {
  ASSERT_TRUE(add().ok());
  for (const int64_t step : {7, 8}) ASSERT_TRUE(run(step).ok());
  EXPECT_EQ(get(7).value().tensors.size(), 1u);
  EXPECT_EQ(steps_->size(), 1u);
  service_.gone(kLink);
  EXPECT_EQ(steps_->size(), 0u);
  EXPECT_EQ(service_.graphs(), 0);
  EXPECT_THAT(get(8).status().message(), HasSubstr("master of this step"));
  EXPECT_THAT(run(9).status().message(), HasSubstr("no graph"));
}

TEST_F(WorkerServiceTest, NoCallEndsTheTask) {
  worker_.breaks = true;
  EXPECT_THAT(add().status().message(), HasSubstr("what nobody thought of"));
  worker_.breaks = false;
  EXPECT_TRUE(add().ok());
}

TEST_F(WorkerServiceTest, PartsThatCannotBe) {
  const std::string many = wire::Writer().number(1000).take();
  const Tensor bytes = bytes_tensor(many + std::string(1000, '\0'));
  EXPECT_THAT(call(CallMethod::kAdd, wire::Writer().number(kNoLimit), {bytes})
                  .status()
                  .message(),
              HasSubstr("number makes no sense"));
}

}  // namespace
}  // namespace rondo
