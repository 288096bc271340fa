// What a group makes of what its members tell it.
#include "rondo/collectives/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <thread>
#include <vector>

namespace rondo {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kId = 5;

// Three ranks of this process, as each of them sees their group.
class GroupOfThree : public testing::Test {
 protected:
  GroupOfThree() : ends(3), groups(3) {
    std::vector<Card> cards;
    for (auto& end : ends) {
      end = Endpoint::start({.interface = "lo", .token = "t"}).value();
      cards.push_back(end->card());
    }
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        const auto r = static_cast<size_t>(rank);
        const Deadline deadline(seconds(20));
        ends[r]->connect(rank, cards, deadline).value();
        groups[r] =
            Group::form(ends[r], kId, {0, 1, 2}, {.transport = "tcp"}, deadline)
                .value();
      });
    for (auto& thread : threads) thread.join();
  }

  template <class Condition>
  static bool soon(Condition condition) {
    for (const Deadline deadline(seconds(10)); !deadline.passed();) {
      if (condition()) return true;
      poll(nullptr, 0, 1);
    }
    return false;
  }

  std::vector<std::shared_ptr<Endpoint>> ends;
  std::vector<std::shared_ptr<Group>> groups;
};

TEST_F(GroupOfThree, WhoLeavesAFailedGroupSaysWhy) {
  // Rank 2 has not heard of it yet when rank 0 gives up.
  ends[1]->tell(0, {ControlType::kAbort, kId,
                    static_cast<uint64_t>(Code::kTimeout), "rank 1 is stuck"});
  ASSERT_TRUE(soon([&] { return groups[0]->failed(); }));
  groups[0].reset();
  ASSERT_TRUE(soon([&] { return groups[2]->left(0); }));
  EXPECT_EQ(groups[2]->failure().code(), Code::kTimeout);
  EXPECT_THAT(groups[2]->failure().message(), HasSubstr("rank 1 is stuck"));
}

TEST_F(GroupOfThree, ATimeoutSaysWhomThePeerWaitsFor) {
  OpTag tag;
  tag.operation = static_cast<uint8_t>(Operation::kBarrier);
  tag.sequence = 1;
  const std::vector<int> the_culprit_twice{1, 1};
  groups[0]->enter(tag);
  groups[0]->wait_for(the_culprit_twice);
  groups[1]->enter(tag);
  groups[2]->enter(tag);
  const int waits_for = 0;
  const Status status =
      groups[2]->inspect(tag, {&waits_for, 1}, true, seconds(1));
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.message(), HasSubstr("nothing arrived from rank 0 ("));
  EXPECT_THAT(status.message(), HasSubstr(", waiting for rank 1 ("));
  EXPECT_THAT(status.message(), Not(HasSubstr(" and rank 1")));
}

}  // namespace
}  // namespace rondo
