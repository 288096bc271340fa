// What pushes and pulls mean, in every mode.
#include <future>
#include <thread>

#include "rondo/ps/test_cluster.h"

namespace rondo {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class KvTest : public testing::TestWithParam<bool> {
 protected:
  static KvServerOptions options(KvRules rules) {
    KvServerOptions made = with_rules(std::move(rules));
    made.shares_memory = GetParam();
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(Memory, KvTest, testing::Bool(), [](const auto& p) {
  return p.param ? "Shared" : "Sockets";
});

TEST_P(KvTest, OneWorkerGetsWhatItPushed) {
  const TestCluster cluster(options({.optimizer = adding()}), 2);
  auto worker = cluster.worker(0);
  // None, one, and many in many parts.
  const std::vector<Shape> shapes = {{0}, {}, {1}, {17}, {300, 500}};
  std::vector<Key> keys;
  std::vector<Tensor> initial;
  for (const Shape& shape : shapes) {
    keys.push_back({fmt::format("k{}", keys.size()), DType::kF32, shape});
    initial.push_back(counting(shape));
  }
  ASSERT_TRUE(worker->add(keys, initial).ok());
  EXPECT_GT(worker->parts("k4").size(), 4u);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(values(pulled(*worker, keys[i].name, shapes[i])),
              values(initial[i]));
    for (int step = 0; step < 3; ++step)
      worker->push(keys[i].name, counting(shapes[i])).wait(soon()).value();
    Tensor into = Tensor::zeros(shapes[i]);
    worker->push_pull(keys[i].name, counting(shapes[i]), into)
        .wait(soon())
        .value();
    float next = 0;
    for (const float x : into.span<float>()) ASSERT_EQ(x, 5 * next++);
  }
}

TEST_P(KvTest, GradientsMayTravelInHalfTheBytes) {
  const TestCluster cluster(options({.workers = 2, .optimizer = adding()}), 2);
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {100'000}}};
  ASSERT_TRUE(a->add(keys, {Tensor::full({100'000}, 1.0f)}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  pulled(*a, "w", {100'000});
  // 0.5 and 2^-20: their sum has more bits than bf16.
  const KvWork small =
      b->push("w", Tensor::full({100'000}, BFloat16::from_float(0x1p-20f)));
  Tensor into = Tensor::zeros({100'000});
  a->push_pull("w", Tensor::full({100'000}, BFloat16::from_float(0.5f)), into)
      .wait(soon())
      .value();
  small.wait(soon()).value();
  EXPECT_THAT(values(into), Each(1.25f + 0x1p-21f));
  const Status refused =
      a->push("w", Tensor::full({100'000}, 1.0)).wait(soon());
  EXPECT_THAT(refused.message(), HasSubstr("a gradient of \"w\" is f64"));
}

TEST_P(KvTest, FirstInitialValueWinsWhole) {
  const TestCluster cluster(options({.workers = 2}), 3);
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {100'000}}};
  std::thread other(
      [&] { EXPECT_TRUE(b->add(keys, {Tensor::full({100'000}, 2.0f)}).ok()); });
  EXPECT_TRUE(a->add(keys, {Tensor::full({100'000}, 1.0f)}).ok());
  other.join();
  const auto seen = values(pulled(*a, "w", {100'000}));
  EXPECT_EQ(seen, values(pulled(*b, "w", {100'000})));
  EXPECT_THAT(seen, Each(seen[0]));
}

TEST_P(KvTest, ValuesAreWaitedFor) {
  const TestCluster cluster(options({.workers = 2}), 2);
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {4}}};
  ASSERT_TRUE(a->add(keys).ok());
  Tensor into = Tensor::zeros({4});
  const KvWork work = a->pull("w", into);
  ASSERT_TRUE(b->add(keys, {counting({4})}).ok());
  work.wait(soon()).value();
  EXPECT_THAT(values(into), ElementsAre(0, 1, 2, 3));
}

TEST_P(KvTest, SynchronousStepsAreMeansOfAll) {
  constexpr int kWorkers = 3;
  const TestCluster cluster(
      options({.workers = kWorkers, .optimizer = adding()}), 2);
  const std::vector<Key> keys = {{"w", DType::kF32, {70'000}},
                                 {"b", DType::kF32, {3}}};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kWorkers; ++rank)
    threads.emplace_back([&, rank] {
      auto worker = cluster.worker(rank);
      worker->add(keys, {Tensor::zeros({70'000}), Tensor::zeros({3})}).value();
      Tensor w = pulled(*worker, "w", {70'000}), b = pulled(*worker, "b", {3});
      for (int step = 1; step <= 10; ++step) {
        const Tensor gw = Tensor::full({70'000}, 3.0f * float(rank));
        const Tensor gb = Tensor::full({3}, float(rank));
        // As a step does: pushes as they are ready, pulls before the next.
        const KvWork one = worker->push("b", gb);
        const KvWork two = worker->push_pull("w", gw, w);
        worker->pull("b", b).wait(soon()).value();
        two.wait(soon()).value();
        one.wait(soon()).value();
        ASSERT_EQ(values(w), std::vector<float>(70'000, 3.0f * float(step)));
        ASSERT_THAT(values(b), Each(float(step)));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Every step has its own sum, also where the next is under way already, and
// comes to where the gradient was.
TEST_P(KvTest, KeysThatAreOnlyReducedKeepNothing) {
  constexpr int kWorkers = 3;
  const TestCluster cluster(options({.workers = kWorkers}), 2);
  const std::vector<Key> keys = {
      {.name = "sum", .shape = {70'000}, .reduces = ReduceOp::kSum},
      {.name = "mean",
       .dtype = DType::kBF16,
       .shape = {5},
       .reduces = ReduceOp::kAvg}};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kWorkers; ++rank)
    threads.emplace_back([&, rank] {
      auto worker = cluster.worker(rank);
      worker->add(keys).value();
      for (int step = 0; step < 5; ++step) {
        Tensor first = Tensor::full({70'000}, float(rank + step));
        Tensor second = Tensor::full({70'000}, 10.0f * float(rank));
        Tensor third =
            Tensor::full({5}, BFloat16::from_float(float(4 * rank + step)));
        const KvWork works[] = {worker->push_pull("sum", first, first),
                                worker->push_pull("sum", second, second),
                                worker->push_pull("mean", third, third)};
        for (const KvWork& work : works) work.wait(soon()).value();
        ASSERT_THAT(values(first), Each(3.0f + 3.0f * float(step)));
        ASSERT_THAT(values(second), Each(30));
        for (const BFloat16 x : third.span<BFloat16>())
          ASSERT_EQ(x.to_float(), 4.0f + float(step));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(KvTest, OnlyStepsAreReduced) {
  const TestCluster cluster(options({.mode = KvMode::kAsync}));
  EXPECT_THAT(
      cluster.worker(0)
          ->add({{.name = "w", .shape = {2}, .reduces = ReduceOp::kSum}})
          .message(),
      HasSubstr("\"w\" is only reduced, which needs the synchronous mode"));
}

TEST_P(KvTest, StepsDoNotWaitForBackupWorkers) {
  const TestCluster cluster(
      options({.workers = 2, .backup = 1, .optimizer = adding()}));
  auto fast = cluster.worker(0), slow = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {2}}};
  ASSERT_TRUE(fast->add(keys, {Tensor::zeros({2})}).ok());
  ASSERT_TRUE(slow->add(keys).ok());
  Tensor w = Tensor::zeros({2});
  for (int step = 0; step < 3; ++step)
    fast->push_pull("w", Tensor::full({2}, 1.0f), w).wait(soon()).value();
  EXPECT_THAT(values(w), Each(3));
  // Too late: dropped, and the worker sees where the others are.
  slow->push_pull("w", Tensor::full({2}, 100.0f), w).wait(soon()).value();
  EXPECT_THAT(values(w), Each(3));
  // So its next push is in step again, and counts.
  slow->push_pull("w", Tensor::full({2}, 10.0f), w).wait(soon()).value();
  EXPECT_THAT(values(w), Each(13));
}

TEST_P(KvTest, AsynchronousPushesCountAtOnce) {
  const TestCluster cluster(
      options({.mode = KvMode::kAsync, .workers = 4, .optimizer = adding()}),
      2);
  const std::vector<Key> keys = {{"w", DType::kF32, {50'000}}};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      auto worker = cluster.worker(rank);
      worker->add(keys, {Tensor::zeros({50'000})}).value();
      Tensor w = pulled(*worker, "w", {50'000});
      for (int step = 0; step < 20; ++step) {
        worker->push_pull("w", Tensor::full({50'000}, 1.0f), w)
            .wait(soon())
            .value();
        // Its own are in it.
        ASSERT_GE(w.span<float>()[0], float(step + 1));
      }
      worker->leave().value();
    });
  for (std::thread& thread : threads) thread.join();
  auto last = cluster.worker(0);
  ASSERT_TRUE(last->add(keys).ok());
  EXPECT_THAT(values(pulled(*last, "w", {50'000})), Each(80));
}

TEST_P(KvTest, StalenessIsBounded) {
  const TestCluster cluster(options({.mode = KvMode::kBounded,
                                     .workers = 2,
                                     .staleness = 2,
                                     .optimizer = adding()}));
  auto fast = cluster.worker(0), slow = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {1}}};
  ASSERT_TRUE(fast->add(keys, {Tensor::zeros({1})}).ok());
  ASSERT_TRUE(slow->add(keys).ok());
  const Tensor one = Tensor::full({1}, 1.0f);
  for (int step = 0; step < 2; ++step) {
    fast->push("w", one).wait(soon()).value();
    EXPECT_THAT(values(pulled(*fast, "w", {1})), ElementsAre(step + 1));
  }
  fast->push("w", one).wait(soon()).value();  // now 3 ahead
  std::promise<void> over;
  Tensor w = Tensor::zeros({1});
  const KvWork work =
      fast->pull("w", w, [&](const Status&) { over.set_value(); });
  // The server has seen the pull when it has answered what came behind it.
  ASSERT_TRUE(fast->add({{"x", DType::kF32, {1}}}, {one}).ok());
  EXPECT_FALSE(work.finished());
  slow->push("w", one).wait(soon()).value();
  over.get_future().wait();
  work.wait(soon()).value();
  EXPECT_THAT(values(w), ElementsAre(4));
}

TEST_P(KvTest, RowsGoToTheirServers) {
  const TestCluster cluster(options({.workers = 2, .optimizer = adding()}), 3);
  const std::vector<Key> keys = {{"e", DType::kF32, {1000, 8}, true}};
  auto a = cluster.worker(0), b = cluster.worker(1);
  ASSERT_TRUE(a->add(keys, {counting({1000, 8})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  const auto indices = [](std::vector<int64_t> rows) {
    return Tensor::of<int64_t>({static_cast<int64_t>(rows.size())}, rows);
  };
  const KvWork one =
      a->push_rows("e", indices({5, 999, 5, 400}), Tensor::full({4, 8}, 2.0f));
  const KvWork two =
      b->push_rows("e", indices({400, 0}), Tensor::full({2, 8}, 4.0f));
  one.wait(soon()).value();
  two.wait(soon()).value();
  Tensor rows = Tensor::zeros({5, 8});
  a->pull_rows("e", indices({999, 0, 5, 400, 1}), rows).wait(soon()).value();
  const float firsts[] = {7992 + 1, 0 + 2, 40 + 2, 3200 + 3, 8};
  for (size_t k = 0; k < 5; ++k)
    EXPECT_EQ(rows.span<float>()[8 * k], firsts[k]) << k;
  // The next step: nothing from one of them.
  const KvWork three = a->push_rows("e", indices({}), Tensor::zeros({0, 8}));
  b->push_rows("e", indices({1}), Tensor::full({1, 8}, 2.0f))
      .wait(soon())
      .value();
  three.wait(soon()).value();
  EXPECT_EQ(pulled(*a, "e", {1000, 8}).span<float>()[8], 9);
}

TEST_P(KvTest, OtherTypes) {
  const TestCluster cluster(options({.optimizer = adding()}), 2);
  auto worker = cluster.worker(0);
  Tensor half = Tensor::zeros({1000}, DType::kBF16);
  Tensor wide = Tensor::zeros({1000}, DType::kF64);
  ASSERT_TRUE(
      worker
          ->add({{"h", DType::kBF16, {1000}}, {"d", DType::kF64, {1000}}},
                {half, wide})
          .ok());
  for (BFloat16& x : half.span<BFloat16>()) x = BFloat16::from_float(1.5f);
  for (double& x : wide.span<double>()) x = 0.1;
  Tensor to_half = Tensor::zeros({1000}, DType::kBF16);
  Tensor to_wide = Tensor::zeros({1000}, DType::kF64);
  worker->push_pull("h", half, to_half).wait(soon()).value();
  worker->push_pull("d", wide, to_wide).wait(soon()).value();
  EXPECT_EQ(to_half.span<BFloat16>()[999].to_float(), 1.5f);
  EXPECT_EQ(to_wide.span<double>()[999], 0.1);
}

TEST_P(KvTest, TheLearningRateMayComeWithAPush) {
  const TestCluster cluster(options({.optimizer = adding()}));
  auto worker = cluster.worker(0);
  ASSERT_TRUE(
      worker->add({{"w", DType::kF32, {1}}}, {Tensor::zeros({1})}).ok());
  Tensor w = Tensor::zeros({1});
  worker->push_pull("w", Tensor::full({1}, 1.0f), w, {.learning_rate = 0.5})
      .wait(soon())
      .value();
  EXPECT_THAT(values(w), ElementsAre(-0.5));
}

TEST(Kv, WhoHasLeftIsNotWaitedFor) {
  const TestCluster cluster(with_rules({.workers = 2, .optimizer = adding()}));
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {1}}};
  ASSERT_TRUE(a->add(keys, {Tensor::zeros({1})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  const KvWork work = a->push("w", Tensor::full({1}, 1.0f));
  b->leave().value();
  work.wait(soon()).value();
  EXPECT_THAT(values(pulled(*a, "w", {1})), ElementsAre(1));
}

TEST(Kv, WhoHasComeBackIsWaitedForAgain) {
  const TestFolder folder;
  KvServerOptions options = with_rules({.workers = 2, .optimizer = adding()});
  options.folder = folder.path();
  TestCluster cluster(options);
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {1}}};
  ASSERT_TRUE(a->add(keys, {Tensor::zeros({1})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  b->leave().value();
  a->push("w", Tensor::full({1}, 1.0f)).wait(soon()).value();
  b->come_back().value();
  // Also by a server that was started again.
  cluster.stop(0);
  cluster.start(0);
  Tensor late = Tensor::zeros({1});
  b->pull("w", late).wait(soon()).value();
  const KvWork work = a->push("w", Tensor::full({1}, 2.0f));
  // Its first push is of step 1, and too late; the second makes step 2.
  b->push("w", Tensor::full({1}, 8.0f)).wait(soon()).value();
  b->push("w", Tensor::full({1}, 4.0f)).wait(soon()).value();
  work.wait(soon()).value();
  EXPECT_THAT(values(pulled(*a, "w", {1})), ElementsAre(1 + 3));
}

TEST(Kv, WhoIsLostIsNamed) {
  KvServerOptions options = with_rules({.workers = 2});
  options.worker_patience = seconds(0.1);
  const TestCluster cluster(options);
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {1}}};
  ASSERT_TRUE(a->add(keys, {Tensor::zeros({1})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  const KvWork work = a->push("w", Tensor::full({1}, 1.0f));
  b.reset();
  const Status status = work.wait(soon());
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_THAT(status.message(), HasSubstr("\"w\""));
  EXPECT_THAT(status.message(), HasSubstr("worker 1 ("));
  // Out of step with the server, this worker does not go on.
  EXPECT_EQ(a->pull("w", Tensor::zeros({1})).wait(soon()).code(),
            Code::kPeerLost);
}

TEST(Kv, LostBackupWorkersAreNotMissed) {
  KvServerOptions options =
      with_rules({.workers = 2, .backup = 1, .optimizer = adding()});
  options.worker_patience = seconds(0);
  const TestCluster cluster(options);
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {1}}};
  ASSERT_TRUE(a->add(keys, {Tensor::zeros({1})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  b.reset();
  Tensor w = Tensor::zeros({1});
  for (int step = 0; step < 5; ++step)
    a->push_pull("w", Tensor::full({1}, 1.0f), w).wait(soon()).value();
  EXPECT_THAT(values(w), ElementsAre(5));
}

TEST(Kv, WaitsEndAndSayForWhom) {
  const TestCluster cluster(with_rules({.workers = 2}));
  auto options = cluster.worker_options(0);
  options.timeout = seconds(1.5);
  auto a = KvWorker::connect(options).value();
  const std::vector<Key> keys = {{"w", DType::kF32, {1}}};
  ASSERT_TRUE(a->add(keys).ok());
  const Status empty = a->pull("w", Tensor::zeros({1})).wait(soon());
  EXPECT_EQ(empty.code(), Code::kTimeout);
  EXPECT_THAT(empty.message(), HasSubstr("no initial value"));
  auto b = cluster.worker(1);
  ASSERT_TRUE(b->add(keys, {Tensor::zeros({1})}).ok());
  const Status late = a->push("w", Tensor::zeros({1})).wait(soon());
  EXPECT_EQ(late.code(), Code::kTimeout);
  EXPECT_THAT(late.message(), HasSubstr("worker 1 ("));
}

}  // namespace
}  // namespace rondo
