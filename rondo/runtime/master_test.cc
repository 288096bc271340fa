#include "rondo/runtime/master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "rondo/graph/ops/basic.h"

namespace rondo {
namespace {

using testing::HasSubstr;

constexpr const char* kDevice = "/job:worker/task:3/cpu:0";

// Keeps no graph, and gives what it was told to.
class ScriptedWorker final : public Worker {
 public:
  explicit ScriptedWorker(std::string device = kDevice)
      : device_(std::move(device)) {}

  std::vector<std::string> devices() const override { return {device_}; }
  Result<int64_t> add(std::vector<Part> parts, Deadline deadline,
                      const Cancellation& run) override {
    for (const Part& part : parts)
      for (const auto& node : part.subgraph.graph->nodes())
        ops.emplace_back(node->op().name);
    left = deadline.left();
    if (const auto once = std::exchange(while_adding, nullptr)) once();
    if (run.cancelled()) return run.reason();
    return 1;
  }
  void remove(int64_t /*graph*/) override {}
  void run(StepCall call, Done done) override {
    asked = [this, times = call.timeline, done = std::move(done)](auto result) {
      ran = Clock::now();
      if (times != nullptr) times->add("node", "Op", ran, ran, device_);
      done(std::move(result));
    };
    if (!silent) std::exchange(asked, nullptr)(gives);
  }
  void cancel(int64_t /*step*/, const Status& why) override {
    cancelled_with = why;
  }

  bool silent = false;    // does not answer when it is to run something
  Done asked;             // what is to be called then
  Clock::time_point ran;  // when it did what it was to
  Status cancelled_with;
  std::function<void()> while_adding;  // the next one
  std::vector<Tensor> gives;
  Duration left = Duration::zero();  // of the time to add a graph
  std::vector<std::string> ops;      // of the nodes of all graphs

 private:
  const std::string device_;
};

class MasterTest : public testing::Test {
 protected:
  Result<std::vector<Tensor>> run(const RunOptions& options = {}) {
    return master_.run({one_}, {}, {}, options);
  }

  Graph g_;
  const Value one_ = constant(g_, 1, DType::kF32);
  const std::shared_ptr<ScriptedWorker> worker_ =
      std::make_shared<ScriptedWorker>();
  Master master_{g_,
                 {.workers = {worker_},
                  .place = [](const Graph&, Subgraph& step) -> Status {
                    for (const auto& node : step.graph->nodes())
                      node->set_device(kDevice);
                    return {};
                  }}};
};

TEST_F(MasterTest, CountsWhatWorkersGive) {
  for (const size_t wrong : {0, 2}) {
    worker_->gives.assign(wrong, Tensor::zeros({}));
    const Status status = run().status();
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_THAT(status.message(), HasSubstr(kDevice));
  }
  worker_->gives.assign(1, Tensor::zeros({}));
  EXPECT_EQ(run().value().size(), 1u);
}

TEST_F(MasterTest, ARunsTimeIsThatOfHandingOutItsGraphToo) {
  worker_->gives.assign(1, Tensor::zeros({}));
  ASSERT_TRUE(run({.timeout = std::chrono::hours(1)}).ok());
  EXPECT_GT(worker_->left, Duration::zero());
  EXPECT_LE(worker_->left, std::chrono::hours(1));
}

TEST_F(MasterTest, ClosingEndsTheWaitForAGraph) {
  worker_->while_adding = [&] { master_.close(); };
  const Status status = run().status();
  EXPECT_EQ(status.code(), Code::kCancelled) << status.message();
}

// While a worker takes its time over a graph.
TEST_F(MasterTest, OtherRunsGoOnWhileOneIsPlaced) {
  worker_->gives.assign(1, Tensor::zeros({}));
  ASSERT_TRUE(run().ok());
  const Value two = constant(g_, 2, DType::kF32);
  const Value three = constant(g_, 3, DType::kF32);
  Status placed_later;
  worker_->while_adding = [&] {
    std::thread other([&] {
      EXPECT_TRUE(run().ok()) << "its plan is there";
      placed_later =
          master_
              .run({three}, {}, {}, {.timeout = std::chrono::milliseconds(1)})
              .status();
    });
    other.join();
  };
  EXPECT_TRUE(master_.run({two}, {}, {}).ok());
  EXPECT_EQ(placed_later.code(), Code::kTimeout);
  EXPECT_THAT(placed_later.message(), HasSubstr("being placed"));
  EXPECT_TRUE(master_.run({three}, {}, {}).ok());
}

TEST_F(MasterTest, ClosingEndsTheWaitForAPlace) {
  const Value two = constant(g_, 2, DType::kF32);
  Status waited;
  worker_->while_adding = [&] {
    std::thread other([&] { waited = master_.run({two}, {}, {}).status(); });
    master_.close();
    other.join();
  };
  EXPECT_EQ(run().status().code(), Code::kCancelled);
  EXPECT_EQ(waited.code(), Code::kCancelled);
}

// A node on each of two workers.
struct TwoWorkers {
  TwoWorkers() {
    here->gives.assign(1, Tensor::zeros({}));
    there->gives = here->gives;
  }
  Result<std::vector<Tensor>> run(const RunOptions& options) {
    return master.run({one, two}, {}, {}, options);
  }

  static constexpr const char* kHere = "/job:a/task:0/cpu:0";
  Graph g;
  const Value one = constant(g, 1, DType::kF32),
              two = constant(g, 2, DType::kF32);
  const std::shared_ptr<ScriptedWorker> here =
      std::make_shared<ScriptedWorker>(kHere);
  const std::shared_ptr<ScriptedWorker> there =
      std::make_shared<ScriptedWorker>();
  Master master{
      g,
      {.workers = {there, here},
       .place = [this](const Graph&, Subgraph& step) -> Status {
         for (const auto& node : step.graph->nodes())
           node->set_device(node->name() == one.node->name() ? kDevice : kHere);
         return {};
       }}};
};

std::vector<std::string> devices_of(const Timeline& timeline) {
  std::vector<std::string> devices;
  for (const Timeline::Event& event : timeline.events())
    devices.push_back(event.device);
  return devices;
}

TEST(Master, ATraceHasTheNodesOfAllWorkersAtTheirTimes) {
  TwoWorkers two;
  Timeline timeline;
  ASSERT_TRUE(two.run({.timeline = &timeline}).ok());
  EXPECT_THAT(devices_of(timeline),
              testing::UnorderedElementsAre(kDevice, TwoWorkers::kHere));
  for (const Timeline::Event& event : timeline.events()) {
    const auto& worker = event.device == kDevice ? two.there : two.here;
    const std::chrono::duration<double, std::micro> at =
        worker->ran - timeline.origin();
    EXPECT_NEAR(event.start_us, at.count(), 0.01);
  }
}

// As one whose process was stopped; also in a run that is traced.
TEST(Master, AWorkerThatDoesNotAnswerInTimeIsGivenUp) {
  for (const bool traced : {false, true}) {
    TwoWorkers two;
    two.there->silent = true;
    {
      Timeline timeline;
      RunOptions options{.timeout = Duration(1)};
      if (traced) options.timeline = &timeline;
      const Status status = two.run(options).status();
      EXPECT_EQ(status.code(), Code::kTimeout) << status.message();
      EXPECT_THAT(status.message(), HasSubstr(kDevice));
      EXPECT_EQ(two.there->cancelled_with.code(), Code::kTimeout);
      if (traced) {
        EXPECT_THAT(devices_of(timeline),
                    testing::ElementsAre(TwoWorkers::kHere));
      }
    }
    // It goes on and answers after all, when the caller's timeline is gone.
    two.there->asked(std::vector<Tensor>{Tensor::zeros({})});
  }
}

// A constant that was asked for elsewhere needs no task but that of its user.
TEST(Master, SmallConstantsAreCopiedAndNotSent) {
  const std::string other = "/job:worker/task:4/cpu:0";
  Graph g;
  const auto on = [&](const std::string& device, int64_t count) {
    const DeviceScope scope(g, device);
    return constant(g, Tensor::zeros({count}));
  };
  const Value small = on(other, 1), large = on(other, 5000);
  const DeviceScope scope(g, kDevice);
  const Value a = make("Neg", {small}), b = make("Neg", {large});
  const auto here = std::make_shared<ScriptedWorker>();
  const auto there = std::make_shared<ScriptedWorker>(other);
  here->gives.assign(1, Tensor::zeros({1}));
  Master master(g, {.workers = {there, here},
                    .place = [](const Graph&, Subgraph&) { return Status(); }});
  ASSERT_TRUE(master.run({a}, {}, {}).ok());
  EXPECT_THAT(here->ops, testing::UnorderedElementsAre("Const", "Neg"));
  EXPECT_THAT(there->ops, testing::IsEmpty());
  ASSERT_TRUE(master.run({b}, {}, {}).ok());
  EXPECT_THAT(here->ops, testing::Contains("Recv"));
  EXPECT_THAT(there->ops, testing::UnorderedElementsAre("Const", "Send"));
}

}  // namespace
}  // namespace rondo
