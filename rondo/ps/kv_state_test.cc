// What a training strategy needs of parameter servers: state that is set and
// pulled, rows that have changed, and ends that all workers hear of.
#include "rondo/ps/test_cluster.h"

namespace rondo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Key momentum_key(const std::string& name, const Shape& shape) {
  return {.name = name,
          .shape = shape,
          .optimizer = KvOptimizer::with_momentum(1, 0.5)};
}

std::vector<float> slot_of(KvWorker& worker, const std::string& key, int slot,
                           const Shape& shape) {
  Tensor into = Tensor::zeros(shape);
  worker.pull_slot(key, slot, into).wait(soon()).value();
  return values(into);
}

std::vector<int64_t> pushed_rows(KvWorker& worker,
                                 const std::vector<int64_t>& rows,
                                 Tensor* values = nullptr) {
  const auto count = static_cast<int64_t>(rows.size());
  auto changed = std::make_shared<KvRows>();
  worker
      .push_pull_rows("t", Tensor::of<int64_t>({count}, rows),
                      Tensor::full({count, 2}, 1.0f), changed)
      .wait(soon())
      .value();
  if (values != nullptr) *values = changed->rows;
  const auto all = changed->indices.span<int64_t>();
  return {all.begin(), all.end()};
}

TEST(KvState, AKeyHasItsOwnOptimizer) {
  const TestCluster cluster(
      with_rules({.mode = KvMode::kAsync, .workers = 2, .optimizer = adding()}),
      2);
  auto worker = cluster.worker(0);
  const std::vector<Key> keys = {momentum_key("m", {2}),
                                 {"plain", DType::kF32, {2}}};
  ASSERT_TRUE(worker->add(keys, {Tensor::zeros({2}), Tensor::zeros({2})}).ok());
  for (const char* key : {"m", "plain"})
    for (int step = 0; step < 2; ++step)
      worker->push(key, Tensor::full({2}, 1.0f)).wait(soon()).value();
  EXPECT_THAT(values(pulled(*worker, "m", {2})), Each(-2.5f));
  EXPECT_THAT(values(pulled(*worker, "plain", {2})), Each(2));
  EXPECT_THAT(slot_of(*worker, "m", 0, {2}), Each(1.5f));
  EXPECT_FALSE(
      worker->pull_slot("plain", 0, Tensor::zeros({2})).wait(soon()).ok());
  // Another worker's must be the same.
  auto other = cluster.worker(1);
  EXPECT_THAT(other->add({{"m", DType::kF32, {2}}}).message(),
              HasSubstr("all workers must add the same keys"));
}

TEST(KvState, WhatIsSetIsGoneOnFrom) {
  // Several parts on several servers.
  const Shape shape = {40'000};
  const TestCluster cluster(with_rules({}), 2);
  auto worker = cluster.worker(0);
  ASSERT_TRUE(worker->add({momentum_key("m", shape)}).ok());
  const KvWork set =
      worker->set("m", Tensor::full(shape, 1.0f), {Tensor::full(shape, 2.0f)});
  set.wait(soon()).value();
  Tensor m = Tensor::zeros(shape);
  worker->push_pull("m", Tensor::full(shape, 1.0f), m).wait(soon()).value();
  EXPECT_THAT(values(m), Each(-1));  // 1 - (0.5 * 2 + 1)
  worker->set("m", Tensor::zeros(shape), {Tensor::zeros(shape)})
      .wait(soon())
      .value();
  EXPECT_THAT(values(pulled(*worker, "m", shape)), Each(0));
  EXPECT_THAT(worker->set("m", Tensor::zeros(shape), {}).wait(soon()).message(),
              HasSubstr("a value and 1 slots"));
}

TEST(KvState, WhatIsSetSurvivesARestart) {
  const TestFolder folder;
  KvServerOptions options = with_rules({});
  options.folder = folder.path();
  TestCluster cluster(options);
  auto worker = cluster.worker(0);
  ASSERT_TRUE(worker->add({momentum_key("m", {3})}, {Tensor::zeros({3})}).ok());
  pulled(*worker, "m", {3});
  const Tensor ones = Tensor::full({3}, 1.0f);
  worker->push("m", ones).wait(soon()).value();
  worker->set("m", Tensor::full({3}, 5.0f), {Tensor::full({3}, 2.0f)})
      .wait(soon())
      .value();
  worker->push("m", ones).wait(soon()).value();
  cluster.stop(0);
  cluster.start(0);
  EXPECT_THAT(values(pulled(*worker, "m", {3})), Each(3));
  EXPECT_THAT(slot_of(*worker, "m", 0, {3}), Each(2));
}

TEST(KvState, RowsThatSomebodyChangedComeOnce) {
  const TestCluster cluster(
      with_rules({.mode = KvMode::kAsync, .workers = 2, .optimizer = adding()}),
      2);
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {
      {.name = "t", .shape = {20'000, 2}, .by_rows = true}};
  ASSERT_TRUE(a->add(keys, {Tensor::zeros({20'000, 2})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  EXPECT_EQ(pushed_rows(*a, {1}).size(), 20'000u);
  EXPECT_EQ(pushed_rows(*b, {}).size(), 20'000u);
  EXPECT_THAT(pushed_rows(*a, {}), ElementsAre());
  Tensor rows;
  EXPECT_THAT(pushed_rows(*b, {19'999, 3, 3}, &rows), ElementsAre(3, 19'999));
  EXPECT_THAT(values(rows), ElementsAre(2, 2, 1, 1));
  EXPECT_THAT(pushed_rows(*a, {4}, &rows), ElementsAre(3, 4, 19'999));
  EXPECT_EQ(rows.shape(), Shape({3, 2}));
  ASSERT_TRUE(a->forget_rows("t").ok());
  EXPECT_EQ(pushed_rows(*a, {}).size(), 20'000u);
}

TEST(KvState, RowsThatChangedLongAgoComeToo) {
  const TestCluster cluster(with_rules(
      {.mode = KvMode::kAsync, .workers = 2, .optimizer = adding()}));
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {
      {.name = "t", .shape = {80, 2}, .by_rows = true}};
  ASSERT_TRUE(a->add(keys, {Tensor::zeros({80, 2})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  EXPECT_EQ(pushed_rows(*a, {}).size(), 80u);
  EXPECT_EQ(pushed_rows(*b, {}).size(), 80u);
  // More of them than a server lists, then fewer.
  for (const int64_t last : {40, 5}) {
    std::vector<int64_t> expected;
    for (int64_t row = 0; row < last; ++row) {
      EXPECT_THAT(pushed_rows(*a, {row}), ElementsAre(row));
      expected.push_back(row);
    }
    EXPECT_EQ(pushed_rows(*b, {}), expected);
  }
}

TEST(KvState, RowsThatAreForgottenOnTheirWayComeAgain) {
  const TestCluster cluster(with_rules({.workers = 2, .optimizer = adding()}));
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {
      {.name = "t", .shape = {9, 2}, .by_rows = true}};
  ASSERT_TRUE(a->add(keys, {Tensor::zeros({9, 2})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  // Calls of `a` wait for those of `b`.
  const auto push = [&](KvWorker& worker, auto changed) {
    return worker.push_pull_rows("t", Tensor::of<int64_t>({1}, {{4}}),
                                 Tensor::full({1, 2}, 1.0f), changed);
  };
  for (const int64_t expected : {9, 1, 9}) {
    const auto rows = std::make_shared<KvRows>();
    const KvWork on_its_way = push(*a, rows);
    if (expected == 1) {
      ASSERT_TRUE(a->forget_rows("t").ok());
    }
    push(*b, std::make_shared<KvRows>()).wait(soon()).value();
    on_its_way.wait(soon()).value();
    EXPECT_EQ(rows->indices.count(), expected);
  }
}

TEST(KvState, AWorkerThatGivesUpIsHeardByAll) {
  const TestCluster cluster(with_rules({.workers = 2}), 2);
  auto a = cluster.worker(0), b = cluster.worker(1);
  const std::vector<Key> keys = {{"w", DType::kF32, {40'000}}};
  ASSERT_TRUE(a->add(keys, {Tensor::zeros({40'000})}).ok());
  ASSERT_TRUE(b->add(keys).ok());
  const KvWork waits = a->push("w", Tensor::zeros({40'000}));
  b->abort("its disk is full");
  const Status status = waits.wait(soon());
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_THAT(status.message(), HasSubstr("worker 1 ("));
  EXPECT_THAT(status.message(), HasSubstr("gave up: its disk is full"));
}

TEST(KvState, AServerThatNobodyStartsAgainIsLost) {
  TestCluster cluster(with_rules({}));
  auto options = cluster.worker_options(0);
  options.server_patience = seconds(0.1);
  auto worker = KvWorker::connect(options).value();
  ASSERT_TRUE(
      worker->add({{"w", DType::kF32, {2}}}, {Tensor::zeros({2})}).ok());
  cluster.stop(0);
  const Status status = worker->push("w", Tensor::zeros({2})).wait(soon());
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_THAT(status.message(), HasSubstr("parameter server 0 was lost"));
}

}  // namespace
}  // namespace rondo
