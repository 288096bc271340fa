// Workers of one process, and masters that use them.
#include "rondo/runtime/local_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/state.h"
#include "rondo/runtime/constraint_placement.h"
#include "rondo/runtime/local_rendezvous.h"
#include "rondo/runtime/master.h"

namespace rondo {
namespace {

using testing::HasSubstr;

float number(const Tensor& t) { return t.span<float>()[0]; }
Tensor scalar(float x) { return Tensor::full(Shape{}, x); }

TEST(LocalRendezvousTest, MeetsInEitherOrder) {
  LocalRendezvous rendezvous;
  float got = 0;
  auto take = [&](const Result<Rendezvous::Parcel>& parcel) {
    ASSERT_TRUE(parcel.ok());
    got = parcel->dead ? -1 : number(parcel->tensor);
  };
  rendezvous.send("a", {scalar(1)}).value();
  rendezvous.recv("a", take);
  EXPECT_EQ(got, 1);
  rendezvous.recv("b", take);
  EXPECT_EQ(got, 1);
  rendezvous.send("b", {.dead = true}).value();
  EXPECT_EQ(got, -1);
}

TEST(LocalRendezvousTest, AbortReachesAll) {
  LocalRendezvous rendezvous;
  std::vector<std::string> told;
  auto take = [&](const Result<Rendezvous::Parcel>& parcel) {
    told.push_back(parcel.status().message());
  };
  rendezvous.recv("a", take);
  rendezvous.abort(error(Code::kPeerLost, "gone"));
  rendezvous.abort(error(Code::kPeerLost, "later"));
  rendezvous.recv("b", take);
  EXPECT_EQ(rendezvous.send("c", {}).message(), "gone");
  EXPECT_THAT(told, testing::ElementsAre("gone", "gone"));
  rendezvous.clear();
  rendezvous.send("c", {}).value();
}

TEST(LocalRendezvousTest, SaysWhatCameTwice) {
  LocalRendezvous rendezvous;
  rendezvous.send("a", {}).value();
  EXPECT_THAT(rendezvous.send("a", {}).message(), HasSubstr("\"a\" was sent"));
}

// Two tasks with one device each, whose steps meet in a rendezvous that both
// get by the step's number.
class TwoWorkersTest : public testing::Test {
 protected:
  TwoWorkersTest() {
    for (int task = 0; task < 2; ++task) {
      names_.push_back(fmt::format("/job:worker/task:{}/cpu:0", task));
      workers_.push_back(std::make_shared<LocalWorker>(LocalWorker::Options{
          .devices = {names_.back()},
          .intra_op_threads = 1,
          .rendezvous = [this](int64_t step) { return meeting(step); }}));
    }
  }

  std::shared_ptr<Rendezvous> meeting(int64_t step) {
    const std::lock_guard lock(mutex_);
    auto& there = meetings_[step];
    // Kept for good: a worker may be done before the other has begun.
    if (!there) there = std::make_shared<LocalRendezvous>();
    return there;
  }

  std::unique_ptr<Master> master(Graph& graph) {
    auto placement = std::make_shared<ConstraintPlacement>(
        PlacementOptions{.devices = names_});
    return std::make_unique<Master>(
        graph,
        MasterOptions{.workers = {workers_[0], workers_[1]},
                      .place = [placement](const Graph& whole, Subgraph& step) {
                        return placement->place(whole, step);
                      }});
  }

  std::mutex mutex_;
  std::map<int64_t, std::shared_ptr<Rendezvous>>
      meetings_;  // guarded by mutex_
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<LocalWorker>> workers_;
};

TEST_F(TwoWorkersTest, AStepOnBoth) {
  Graph g;
  Value x = placeholder(g, {.shape = {}});
  Value y = x;
  for (int i = 0; i < 6; ++i) {
    const DeviceScope device(g, fmt::format("/job:worker/task:{}", i % 2));
    y = y + x;
  }
  auto m = master(g);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(number(m->run({y}, {{x, scalar(i)}}, {}).value()[0]), 7 * i);
}

TEST_F(TwoWorkersTest, AFailureOnOneEndsTheOther) {
  Graph g;
  Value y;
  std::optional<FIFOQueue> queue;
  Value bad;
  {
    const DeviceScope device(g, "/job:worker/task:0");
    queue.emplace(g, std::vector<DType>{DType::kF32});
    y = queue->dequeue()[0];
  }
  {
    const DeviceScope device(g, "/job:worker/task:1");
    bad = g.add({.op = "Variable",
                 .attrs = {{"dtype", DType::kF32},
                           {"shape", PartialShape::scalar()}},
                 .name = "unset"})
              .output();
  }
  auto m = master(g);
  for (int i = 0; i < 10; ++i) {
    const Status status = m->run({y, bad}, {}, {}).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("\"unset\""));
    EXPECT_THAT(status.message(), HasSubstr(names_[1]));
  }
}

TEST_F(TwoWorkersTest, VariablesOutliveSessionsAndAreShared) {
  Graph first, second;
  auto build = [](Graph& g) {
    const DeviceScope device(g, "/job:worker/task:1");
    return variable(g, constant(g, 5, DType::kF32), {.name = "v"});
  };
  const Value v = build(first);
  const Value w = build(second);
  const Value more = assign_add(w, constant(second, 2, DType::kF32));
  {
    auto m = master(first);
    m->run({}, {}, {&initializer(first)}).value();
  }
  auto other = master(second);
  EXPECT_EQ(number(other->run({more}, {}, {}).value()[0]), 7);
  EXPECT_EQ(number(master(first)->run({v}, {}, {}).value()[0]), 7);
  workers_[1]->containers().clear("");
  EXPECT_THAT(master(first)->run({v}, {}, {}).status().message(),
              HasSubstr("has no value yet"));
}

TEST_F(TwoWorkersTest, ContainersKeepThingsApart) {
  Graph g;
  const Value a =
      variable(g, constant(g, 1, DType::kF32), {.name = "v", .container = "a"});
  const Value b =
      variable(g, constant(g, 2, DType::kF32), {.name = "w", .container = "b"});
  const Value more = assign_add(a, constant(g, 10, DType::kF32));
  auto m = master(g);
  m->run({}, {}, {&initializer(g)}).value();
  EXPECT_EQ(number(m->run({more}, {}, {}).value()[0]), 11);
  workers_[0]->containers().clear("a");
  auto later = master(g);
  EXPECT_EQ(number(later->run({b}, {}, {}).value()[0]), 2);
  EXPECT_FALSE(later->run({a}, {}, {}).ok());
}

// One part with a node that waits for a queue.
class OneWorkerTest : public testing::Test {
 protected:
  int64_t add_waiting() {
    FIFOQueue queue(g_, {DType::kF32});
    const Value fetches[] = {queue.dequeue()[0]};
    return add(extract(g_, {}, fetches, {}));
  }
  int64_t add(Subgraph step) {
    for (const auto& node : step.graph->nodes()) node->set_device(kName);
    std::vector<Worker::Part> parts;
    parts.push_back({kName, std::move(step)});
    return worker_.add(std::move(parts), Deadline::never(), {}).value();
  }

  static constexpr const char* kName = "/job:worker/task:0/cpu:0";
  Graph g_;
  int64_t step_ = 0;
  LocalWorker worker_{{.devices = {kName}}};
};

TEST_F(OneWorkerTest, CancelBeforeAndAfter) {
  const int64_t graph = add_waiting();
  const Status why = error(Code::kPeerLost, "worker 3 was lost");
  worker_.cancel(8, why);
  EXPECT_EQ(worker_.run_here({.graph = graph, .step = 8}).status().message(),
            why.message());
  std::thread other([&] { worker_.cancel(9, why); });
  EXPECT_EQ(worker_.run_here({.graph = graph, .step = 9}).status().message(),
            why.message());
  other.join();
}

TEST_F(OneWorkerTest, StartsWithoutWaiting) {
  const int64_t graph = add_waiting();
  std::mutex mutex;
  std::condition_variable there;
  std::vector<Code> codes;  // guarded by mutex
  for (int64_t step = 1; step <= 5; ++step)
    worker_.run({.graph = graph, .step = step}, [&](auto result) {
      const std::lock_guard lock(mutex);
      codes.push_back(result.status().code());
      there.notify_all();
    });
  for (int64_t step = 1; step <= 5; ++step)
    worker_.cancel(step, error(Code::kCancelled, "no"));
  std::unique_lock lock(mutex);
  ASSERT_TRUE(there.wait_for(lock, std::chrono::seconds(60),
                             [&] { return codes.size() == 5; }));
  EXPECT_THAT(codes, testing::Each(Code::kCancelled));
}

// Where it is not known to wait for nothing, it might keep the thread of a link
// on which its end would come.
TEST_F(OneWorkerTest, OnlyShortStepsRunOnTheThreadThatStartsThem) {
  FIFOQueue queue(g_, {DType::kF32});
  const Value one = constant(g_, 1, DType::kF32);
  const Value fetches[] = {make("Neg", {one})};
  Node* const targets[] = {&queue.enqueue({one})};
  const int64_t filling = add(extract(g_, {}, {}, targets));
  const int64_t plain = add(extract(g_, {}, fetches, {}));
  const auto runs_here = [&](int64_t graph) {
    std::promise<std::thread::id> ran;
    worker_.run({.graph = graph, .step = ++step_}, [&](const auto& result) {
      EXPECT_TRUE(result.ok());
      ran.set_value(std::this_thread::get_id());
    });
    return ran.get_future().get() == std::this_thread::get_id();
  };
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(runs_here(filling));
  EXPECT_FALSE(runs_here(plain)) << "nobody knows how long it takes";
  // On a busy machine one may take long.
  const Deadline deadline(seconds(60));
  while (!runs_here(plain)) ASSERT_FALSE(deadline.passed());
}

TEST_F(OneWorkerTest, SaysWhatItDoesNotHave) {
  const int64_t graph = add_waiting();
  EXPECT_THAT(worker_.run_here({.graph = graph, .feeds = {scalar(1)}})
                  .status()
                  .message(),
              HasSubstr("1 tensors are fed, expected 0"));
  worker_.remove(graph);
  EXPECT_THAT(worker_.run_here({.graph = graph}).status().message(),
              HasSubstr("there is no graph"));
  std::vector<Worker::Part> parts(1);
  parts[0].device = "/job:worker/task:5/cpu:0";
  EXPECT_THAT(
      worker_.add(std::move(parts), Deadline::never(), {}).status().message(),
      HasSubstr(kName));
}

}  // namespace
}  // namespace rondo
