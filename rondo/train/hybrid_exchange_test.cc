// Buckets by ranks and servers at once, ranks as threads.
#include "rondo/train/hybrid_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "rondo/collectives/spawn_ranks.h"
#include "rondo/ps/test_cluster.h"

namespace rondo {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr ServerShare kHalf = {.share = 0.5};
constexpr int64_t kCount = 1 << 12;

class PlainAllocator final : public Allocator {
 public:
  Tensor allocate(DType dtype, const Shape& shape) override {
    return Tensor::empty(shape, dtype);
  }
};

HybridExchange exchange_of(Communicator& comm, const TestCluster& cluster,
                           ServerShare share = kHalf) {
  return HybridExchange(comm, false, cluster.worker(comm.rank()), share);
}

// Begins the mean of each tensor; the future is how it ended.
std::future<Status> begin(Exchange& exchange, std::vector<Tensor> tensors,
                          const ReduceTerms& terms = {}) {
  auto promise = std::make_shared<std::promise<Status>>();
  exchange.begin_all_reduce(
      std::move(tensors), terms,
      [promise](const Status& status) { promise->set_value(status); });
  return promise->get_future();
}
std::future<Status> begin(Exchange& exchange, const Tensor& tensor) {
  return begin(exchange, std::vector<Tensor>{tensor});
}

// More than may be under way at once, most of one kind, so that keys are taken
// again; between two of them something that ranks do alone, some of it at once.
TEST(HybridExchange, ManyBucketsAtOnceDoNotMixUp) {
  const TestCluster cluster(with_rules({.workers = 3}), 2);
  spawn_ranks("tcp", 3, [&](Communicator& comm) {
    HybridExchange exchange =
        exchange_of(comm, cluster, {.share = 0.5, .least_bytes = 4 * kCount});
    std::vector<Tensor> buckets;
    std::vector<std::future<Status>> ends;
    const auto mine = static_cast<float>(comm.rank());
    for (int i = 0; i < 30; ++i) {
      const int64_t count = i % 3 == 2 ? 16 : kCount;
      buckets.push_back(Tensor::full({count}, static_cast<float>(i) + mine));
      ends.push_back(begin(exchange, buckets.back()));
      if (i != 10) continue;
      PlainAllocator allocator;
      Tensor row = Tensor::full({1, 2}, mine);
      exchange.all_gather(row, DType::kF32, allocator).value();
      EXPECT_EQ(values(row), (std::vector<float>{0, 0, 1, 1, 2, 2}));
    }
    for (size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_TRUE(ends[i].get().ok());
      EXPECT_THAT(values(buckets[i]), Each(static_cast<float>(i) + 1));
    }
  });
}

// Buckets that are copied as a whole, to travel as bf16, and such of which only
// the servers' share is. Their last parts end on several threads.
TEST(HybridExchange, WhatIsCopiedIsBackWhenABucketIsOver) {
  const TestCluster cluster(with_rules({.workers = 2}), 2);
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    HybridExchange exchange = exchange_of(comm, cluster);
    std::vector<std::vector<Tensor>> buckets;
    std::vector<std::future<Status>> ends;
    for (int i = 0; i < 20; ++i) {
      const auto mine = static_cast<float>(i + 2 * comm.rank());
      std::vector<Tensor>& bucket = buckets.emplace_back();
      for (const int64_t count : {40, 4000, 500})
        bucket.push_back(Tensor::full({count}, mine));
      ends.push_back(begin(exchange, bucket,
                           {.wire = i % 2 == 0 ? DType::kBF16 : DType::kF32}));
    }
    for (size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_TRUE(ends[i].get().ok());
      for (const Tensor& tensor : buckets[i])
        EXPECT_THAT(values(tensor), Each(static_cast<float>(i) + 1));
    }
  });
}

// What servers get does not wait for what the ranks do.
TEST(HybridExchange, BeginsBucketsWhileOthersAreUnderWay) {
  const TestCluster cluster(with_rules({.workers = 2}), 1);
  std::promise<void> begun;
  std::shared_future<void> others(begun.get_future());
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    HybridExchange exchange = exchange_of(comm, cluster);
    // By the first exchange, which waits for all ranks, keys are known.
    Tensor first = Tensor::zeros({kCount});
    exchange.all_reduce({&first, 1}, {}).value();
    if (comm.rank() == 1) others.wait();
    Tensor a = Tensor::full({kCount}, 1.0F), b = Tensor::full({kCount}, 2.0F);
    auto end_of_a = begin(exchange, a), end_of_b = begin(exchange, b);
    if (comm.rank() == 0) begun.set_value();
    EXPECT_TRUE(end_of_a.get().ok());
    EXPECT_TRUE(end_of_b.get().ok());
    EXPECT_THAT(values(a), Each(1));
    EXPECT_THAT(values(b), Each(2));
  });
}

TEST(HybridExchange, SmallBucketsGoFromRankToRank) {
  const TestCluster cluster(with_rules({.workers = 2}), 1);
  spawn_ranks("tcp", 2, [&](Communicator& comm) {
    HybridExchange exchange =
        exchange_of(comm, cluster, {.share = 0.5, .least_bytes = 4 * kCount});
    const auto sent_for = [&](int64_t count) {
      Tensor bucket = Tensor::full({count}, 1.0F);
      const uint64_t before = comm.traffic().bytes_sent;
      exchange.all_reduce({&bucket, 1}, {}).value();
      EXPECT_THAT(values(bucket), Each(1));
      return static_cast<double>(comm.traffic().bytes_sent - before);
    };
    const double whole = sent_for(kCount - 16);
    const double half = sent_for(kCount);
    EXPECT_NEAR(half, whole / 2, 200);
  });
}

TEST(HybridExchange, AnAbortEndsAllThatIsUnderWay) {
  const TestCluster cluster(with_rules({.workers = 2}), 1);
  spawn_ranks("shm", 2, [&](Communicator& comm) {
    HybridExchange exchange = exchange_of(comm, cluster);
    Tensor first = Tensor::zeros({kCount});
    exchange.all_reduce({&first, 1}, {}).value();
    if (comm.rank() == 1) return exchange.abort("enough");
    std::vector<Tensor> buckets;
    std::vector<std::future<Status>> ends;
    // More than may be under way: the last would wait for ever.
    for (int i = 0; i < 20; ++i) {
      buckets.push_back(Tensor::full({kCount}, 1.0F));
      ends.push_back(begin(exchange, buckets.back()));
    }
    for (auto& end : ends)
      EXPECT_THAT(end.get().message(), HasSubstr("enough"));
  });
}

}  // namespace
}  // namespace rondo
