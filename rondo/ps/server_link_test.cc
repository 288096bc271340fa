// Calls that wait for answers to others before they are sent.
#include "rondo/ps/server_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/ps/test_cluster.h"

namespace rondo {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

const std::vector<Key> kMean = {
    {.name = "mean", .shape = {4}, .reduces = ReduceOp::kAvg}};

std::unique_ptr<KvWorker> limited(const TestCluster& cluster, int worker,
                                  size_t most_under_way,
                                  const std::vector<Key>& keys = kMean) {
  KvWorkerOptions options = cluster.worker_options(worker);
  options.most_under_way = most_under_way;
  auto made = KvWorker::connect(std::move(options)).value();
  made->add(keys).value();
  return made;
}

// Pushes of steps 1, 2, ..., of which a server takes 64 before they are made.
std::vector<KvWork> pushes(KvWorker& worker, std::vector<Tensor>& values) {
  std::vector<KvWork> works;
  for (int step = 1; step <= 100; ++step) {
    values.push_back(Tensor::full({4}, static_cast<float>(step)));
    works.push_back(worker.push_pull("mean", values.back(), values.back()));
  }
  return works;
}

TEST(ServerLink, KeepsBackWhatIsMoreThanMayBeUnderWay) {
  const TestCluster cluster(with_rules({.workers = 2}));
  // Two pushes, and none: one is under way then.
  for (const size_t most : {size_t{32}, size_t{1}}) {
    auto a = limited(cluster, 0, most), b = limited(cluster, 1, most);
    std::vector<Tensor> of_a, of_b;
    const auto first = pushes(*a, of_a), second = pushes(*b, of_b);
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(first[i].wait(soon()).ok());
      EXPECT_TRUE(second[i].wait(soon()).ok());
      EXPECT_THAT(values(of_a[i]), Each(static_cast<float>(i + 1)));
    }
  }
}

TEST(ServerLink, SendsAllWithoutALimit) {
  const TestCluster cluster(with_rules({.workers = 2}));
  auto a = limited(cluster, 0, 0);
  std::vector<Tensor> of_a;
  EXPECT_THAT(pushes(*a, of_a).back().wait(soon()).message(),
              HasSubstr("before more than 64 are under way"));
}

TEST(ServerLink, WhatIsKeptBackSurvivesAServersRestart) {
  const TestFolder folder;
  KvServerOptions options = with_rules({.workers = 2});
  options.folder = folder.path();
  TestCluster cluster(options);
  auto a = limited(cluster, 0, 32), b = limited(cluster, 1, 32);
  std::vector<Tensor> of_a, of_b;
  const auto first = pushes(*a, of_a);
  cluster.stop(0);
  cluster.start(0);
  const auto second = pushes(*b, of_b);
  for (size_t i = 0; i < first.size(); ++i) {
    first[i].wait(soon()).value();
    second[i].wait(soon()).value();
  }
}

// None of them is answered before both have pushed it.
TEST(ServerLink, WorkersMayPushKeysInDifferentOrders) {
  const TestCluster cluster(with_rules({.workers = 2}));
  const std::vector<Key> keys = {
      {.name = "a", .shape = {4}, .reduces = ReduceOp::kAvg},
      {.name = "b", .shape = {4}, .reduces = ReduceOp::kAvg}};
  auto one = limited(cluster, 0, 1, keys), other = limited(cluster, 1, 1, keys);
  std::vector<Tensor> into;
  std::vector<KvWork> works;
  const auto push = [&](KvWorker& worker, const std::string& key) {
    for (const float value : {1.0F, 2.0F, 3.0F}) {
      into.push_back(Tensor::full({4}, value));
      works.push_back(worker.push_pull(key, into.back(), into.back()));
    }
  };
  push(*one, "a");
  push(*one, "b");
  push(*other, "b");
  push(*other, "a");
  for (size_t i = 0; i < works.size(); ++i) {
    works[i].wait(soon()).value();
    EXPECT_THAT(values(into[i]), Each(static_cast<float>(i % 3 + 1)));
  }
}

TEST(ServerLink, APullIsBehindPushesThatAreKeptBack) {
  KvRules rules{.mode = KvMode::kAsync, .workers = 1};
  rules.optimizer = KvOptimizer::gradient_descent(1);
  const TestCluster cluster(with_rules(rules));
  KvWorkerOptions options = cluster.worker_options(0);
  options.most_under_way = 1;
  auto worker = KvWorker::connect(std::move(options)).value();
  worker->add({{.name = "w", .shape = {4}}}, {Tensor::zeros({4})}).value();
  const Tensor gradient = Tensor::full({4}, -1.0F), w = Tensor::empty({4});
  worker->pull("w", w).wait(soon()).value();
  for (int i = 0; i < 20; ++i) worker->push("w", gradient);
  worker->pull("w", w).wait(soon()).value();
  EXPECT_THAT(values(w), Each(20.0F));
}

TEST(ServerLink, WhoLeavesHasPushedAll) {
  const TestCluster cluster(with_rules({.workers = 2}));
  auto a = limited(cluster, 0, 1), b = limited(cluster, 1, 1);
  const Tensor three = Tensor::full({4}, 3.0F);
  for (int i = 0; i < 10; ++i) a->push("mean", three);
  a->leave(soon()).value();
  std::vector<Tensor> into;
  std::vector<KvWork> works;
  for (int i = 0; i < 10; ++i) {
    into.push_back(Tensor::full({4}, 1.0F));
    works.push_back(b->push_pull("mean", into.back(), into.back()));
  }
  for (size_t i = 0; i < works.size(); ++i) {
    works[i].wait(soon()).value();
    EXPECT_THAT(values(into[i]), Each(2.0F));
  }
}

}  // namespace
}  // namespace rondo
