// Queues that are closed, waits that end, and threads on both sides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "rondo/runtime/queue_fixture.h"

namespace rondo {
namespace {

using namespace queue_test;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(FifoQueueClosed, GivesTheRestAndThenAnError) {
  Scalars q;
  q.enqueue(1).value();
  EXPECT_FALSE(q.session.run(q.queue.is_closed()).value().span<bool>()[0]);
  q.session.run(q.close).value();
  q.session.run(q.close).value();  // once more changes nothing
  EXPECT_TRUE(q.session.run(q.queue.is_closed()).value().span<bool>()[0]);
  EXPECT_EQ(only(q.session.run(q.take).value()), 1);
  const auto empty = q.session.run(q.take);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.status().code(), Code::kOutOfRange);
  EXPECT_THAT(empty.status().message(),
              HasSubstr("the queue \"q\" is closed and has insufficient "
                        "elements (requested 1, current size 0)"));
  EXPECT_THAT(empty.status().message(), HasSubstr("q_Dequeue"));
  const Status put = q.enqueue(2);
  EXPECT_EQ(put.code(), Code::kCancelled);
  EXPECT_THAT(put.message(), HasSubstr("the queue \"q\" is closed"));
}

TEST(FifoQueueClosed, ManyAreAllOrNothingAndUpToIsWhatIsLeft) {
  Scalars q;
  q.enqueue_many({1, 2, 3}).value();
  q.session.run(q.close).value();
  const auto many = q.dequeue_many(4);
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.status().code(), Code::kOutOfRange);
  EXPECT_THAT(many.status().message(),
              HasSubstr("(requested 4, current size 3)"));
  EXPECT_EQ(q.elements(), 3);
  EXPECT_EQ(only(q.session.run(q.take).value()), 1);
  EXPECT_THAT(all(q.dequeue_up_to(5).value()), ElementsAre(2, 3));
  EXPECT_EQ(q.dequeue_up_to(5).status().code(), Code::kOutOfRange);
  EXPECT_EQ(q.dequeue_up_to(0).value().count(), 0);
}

// Until a taker that waits for more has taken what there was.
void until_empty(Scalars& q) {
  while (q.elements() > 0) std::this_thread::yield();
}

TEST(FifoQueueClosed, WhileAnotherRunWaits) {
  Scalars q;
  q.enqueue_many({1, 2}).value();
  Status status;
  std::thread waits([&] { status = q.dequeue_many(3).status(); });
  until_empty(q);
  q.session.run(q.close).value();
  waits.join();
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("\"q\""));
  // It gave back what it had taken, in order.
  EXPECT_EQ(only(q.session.run(q.take).value()), 1);
  EXPECT_EQ(only(q.session.run(q.take).value()), 2);
}

TEST(FifoQueueClosed, LetsThoseInThatWaited) {
  Scalars q(1);
  Status status;
  // Two of its rows wait once the first is in.
  std::thread waits([&] { status = q.enqueue_many({1, 2, 3}); });
  while (q.elements() == 0) std::this_thread::yield();
  q.session.run(q.close).value();
  EXPECT_THAT(all(q.dequeue_up_to(9).value()), ElementsAre(1, 2, 3));
  waits.join();
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(FifoQueueClosed, CancelsThoseThatWaited) {
  Scalars q(1);
  Status status;
  std::thread waits([&] { status = q.enqueue_many({1, 2, 3}); });
  while (q.elements() == 0) std::this_thread::yield();
  q.session.run(q.cancel).value();
  waits.join();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_THAT(status.message(), HasSubstr("the queue \"q\" is closed"));
  EXPECT_THAT(all(q.dequeue_up_to(9).value()), ElementsAre(1));
}

// ---- Ends of waits ----------------------------------------------------------

TEST(QueueWait, EndsInTime) {
  Scalars q;
  const auto late = q.session.run({q.take}, {}, {}, {.timeout = seconds(0.02)});
  EXPECT_EQ(late.status().code(), Code::kTimeout);
  EXPECT_THAT(late.status().message(),
              HasSubstr(fmt::format("it was still running {}",
                                    q.take.node->describe())));
  q.enqueue(1).value();
  EXPECT_EQ(only(q.session.run(q.take).value()), 1);
}

TEST(QueueWait, EndsByCancellationAndGivesBack) {
  Scalars q;
  q.enqueue_many({1, 2}).value();
  Cancellation cancellation;
  Status status;
  std::thread waits([&] {
    status = q.session
                 .run({q.take_many}, {{q.n, Tensor::full<int64_t>({}, 3)}}, {},
                      {.cancellation = &cancellation})
                 .status();
  });
  until_empty(q);
  cancellation.cancel(error(Code::kCancelled, "enough"));
  waits.join();
  EXPECT_EQ(status.message(), "enough");
  EXPECT_THAT(all(q.dequeue_many(2).value()), ElementsAre(1, 2));
  // Cancelled before it begins.
  EXPECT_EQ(q.session.run({q.take}, {}, {}, {.cancellation = &cancellation})
                .status()
                .message(),
            "enough");
}

TEST(QueueWait, EndsWhenTheSessionIsClosed) {
  Scalars q;
  q.enqueue(1).value();
  Status status;
  std::thread waits([&] { status = q.dequeue_many(2).status(); });
  until_empty(q);
  q.session.close();
  waits.join();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(status.message(), "the session was closed");
  EXPECT_EQ(q.enqueue(1).message(), "the session was closed");
}

TEST(QueueWait, EndsWhenAnotherNodeOfTheRunFails) {
  Scalars q;
  const FIFOQueue closed(q.g, {DType::kF32}, {.name = "closed"});
  q.session.run(closed.close()).value();
  const auto failed = q.session.run({q.take, closed.dequeue()[0]}, {});
  EXPECT_EQ(failed.status().code(), Code::kOutOfRange);
  EXPECT_THAT(failed.status().message(), HasSubstr("\"closed\""));
  q.enqueue(1).value();
  EXPECT_EQ(only(q.session.run(q.take).value()), 1);
}

TEST(QueueWait, OneThatGivesUpLetsTheNextGoOn) {
  Scalars q;
  q.enqueue(1).value();
  Cancellation cancellation;
  std::thread first([&] {
    EXPECT_FALSE(q.session
                     .run({q.take_many}, {{q.n, Tensor::full<int64_t>({}, 2)}},
                          {}, {.cancellation = &cancellation})
                     .ok());
  });
  until_empty(q);
  std::thread second(
      [&] { EXPECT_EQ(only(q.session.run(q.take).value()), 1); });
  cancellation.cancel(error(Code::kCancelled, "enough"));
  first.join();
  second.join();
}

// Many runs cancelled at once while they wait for one queue: each wake lets
// others go on.
TEST(QueueWait, ManyEndTogether) {
  for (int round = 0; round < 20; ++round) {
    Scalars q(2);
    std::vector<std::thread> threads;
    Cancellation cancellations[6];
    std::atomic<int> gave_up = 0;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&, i] {
        const RunOptions options{.cancellation = &cancellations[i]};
        const Status status =
            i % 2 == 0
                ? q.session
                      .run({q.take_many}, {{q.n, Tensor::full<int64_t>({}, 9)}},
                           {}, options)
                      .status()
                : q.session
                      .run({}, {{q.rows, floats({1, 2, 3})}}, {&q.put_many},
                           options)
                      .status();
        if (!status.ok()) ++gave_up;
      });
    for (Cancellation& c : cancellations)
      threads.emplace_back(
          [&] { c.cancel(error(Code::kCancelled, "enough")); });
    for (std::thread& t : threads) t.join();
    EXPECT_LE(gave_up, 6);
    // Whatever got in can be taken.
    const int64_t left = q.elements();
    EXPECT_EQ(q.dequeue_many(left).value().count(), left);
  }
}

// ---- Threads ----------------------------------------------------------------

// As inter-op threads.
class QueueThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, QueueThreads, testing::Values(1, 3));

TEST_P(QueueThreads, ProducersAndConsumers) {
  constexpr int kEach = 200;
  Graph g;
  const FIFOQueue queue(g, {DType::kI64},
                        {.capacity = 3, .shapes = {PartialShape::scalar()}});
  Value x =
      placeholder(g, {.dtype = DType::kI64, .shape = PartialShape::scalar()});
  Node& put = queue.enqueue({x});
  const Value take = queue.dequeue()[0];
  const Value pair = queue.dequeue_up_to(2)[0];
  Node& close = queue.close();
  Session session(g, {.inter_op_threads = GetParam(), .intra_op_threads = 1});
  std::vector<std::thread> producers;
  for (int p = 0; p < 3; ++p)
    producers.emplace_back([&, p] {
      for (int i = 0; i < kEach; ++i)
        session.run(put, {{x, Tensor::full<int64_t>({}, p * kEach + i)}})
            .value();
    });
  std::mutex mutex;
  std::multiset<int64_t> seen;
  std::vector<std::thread> consumers;
  for (int c = 0; c < 3; ++c)
    consumers.emplace_back([&, c] {
      for (;;) {
        const auto got = session.run(c == 0 ? pair : take);
        if (!got.ok()) {
          EXPECT_EQ(got.status().code(), Code::kOutOfRange);
          return;
        }
        const std::lock_guard lock(mutex);
        for (const int64_t v : got->span<int64_t>()) seen.insert(v);
      }
    });
  for (std::thread& t : producers) t.join();
  session.run(close).value();
  for (std::thread& t : consumers) t.join();
  ASSERT_EQ(seen.size(), 3U * kEach);
  int64_t next = 0;
  for (const int64_t v : seen) EXPECT_EQ(v, next++);
}

}  // namespace
}  // namespace rondo
