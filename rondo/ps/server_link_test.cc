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
                                  size_t most_under_way) {
  KvWorkerOptions options = cluster.worker_options(worker);
  options.most_under_way = most_under_way;
  auto made = KvWorker::connect(std::move(options)).value();
  made->add(kMean).value();
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

}  // namespace
}  // namespace rondo
