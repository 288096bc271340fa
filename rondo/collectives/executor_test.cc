// The executor on groups whose channels do the unlikely.
#include "rondo/collectives/executor.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace rondo {
namespace {

constexpr uint64_t kGroup = 4711;
constexpr size_t kBlock = 64 << 10;
constexpr int64_t kCount = 100;

// Two ranks of this process.
std::vector<std::shared_ptr<Group>> pair_of_groups() {
  std::vector<std::shared_ptr<Endpoint>> ends;
  std::vector<Card> cards;
  for (int rank = 0; rank < 2; ++rank) {
    ends.push_back(Endpoint::start({.interface = "lo"}).value());
    cards.push_back(ends.back()->card());
  }
  std::vector<std::future<std::shared_ptr<Group>>> forming;
  for (int rank = 0; rank < 2; ++rank)
    forming.push_back(std::async(std::launch::async, [&, rank] {
      const Deadline deadline(seconds(10));
      const auto end = ends[static_cast<size_t>(rank)];
      end->connect(rank, cards, deadline).value();
      return Group::form(end, kGroup, {0, 1}, {}, deadline).value();
    }));
  return {forming[0].get(), forming[1].get()};
}

Status run(Group& group, const Plan& plan, std::vector<int32_t>& data) {
  Call call;
  call.operation = Operation::kBroadcast;
  call.dtype = DType::kI32;
  call.in = call.out = data.data();
  call.tag.sequence = 1;
  Waiter waiter(group, call.tag, seconds(10), {});
  return Executor(group, kBlock).run(plan, call, waiter);
}

// A channel on which something happens when its owner is about to wait: after
// it has looked in vain, and before it asks whether the peer is still there.
class Interrupted final : public Channel {
 public:
  Interrupted(std::unique_ptr<Channel> base, std::function<void()> event)
      : base_(std::move(base)), event_(std::move(event)) {}

  int streams() const override { return base_->streams(); }
  ssize_t send(int stream, std::span<const iovec> pieces) override {
    return base_->send(stream, pieces);
  }
  ssize_t recv(int stream, std::span<const iovec> pieces) override {
    return base_->recv(stream, pieces);
  }
  void end_recv(int stream) override { base_->end_recv(stream); }
  bool poll_for_send(int stream, std::vector<pollfd>& fds) const override {
    return base_->poll_for_send(stream, fds);
  }
  bool poll_for_recv(int stream, std::vector<pollfd>& fds) const override {
    if (event_) std::exchange(event_, nullptr)();
    return base_->poll_for_recv(stream, fds);
  }
  Status failure() const override { return base_->failure(); }

 private:
  std::unique_ptr<Channel> base_;
  mutable std::function<void()> event_;
};

// What a peer sent before it left still counts.
TEST(Executor, TakesWhatAPeerSentBeforeItLeft) {
  auto groups = pair_of_groups();
  Group& receiver = *groups[0];
  const Range whole{Buffer::kOutput, 0, kCount};
  auto send_and_leave = [&] {
    Plan plan;
    plan.send(0, whole, 0);
    std::vector<int32_t> data(kCount, 42);
    EXPECT_TRUE(run(*groups[1], plan, data).ok());
    groups[1].reset();
    for (const Deadline deadline(seconds(10));
         !receiver.left(1) && !deadline.passed();)
      std::this_thread::yield();
    EXPECT_TRUE(receiver.left(1));
  };
  receiver.set_channel(1, std::make_unique<Interrupted>(
                              receiver.take_channel(1), send_and_leave));

  Plan plan;
  plan.recv(1, whole, 0);
  std::vector<int32_t> data(kCount, 0);
  const Status status = run(receiver, plan, data);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(data, std::vector<int32_t>(kCount, 42));

  // Now it has nothing left to say.
  const Status later = run(receiver, plan, data);
  EXPECT_EQ(later.code(), Code::kPeerLost) << later.to_string();
  EXPECT_NE(later.message().find("has closed the communicator"),
            std::string::npos)
      << later.to_string();
}

}  // namespace
}  // namespace rondo
