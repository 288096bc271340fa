#include "rondo/transport/arrivals.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

namespace rondo {
namespace {

Fd some_fd() { return Fd(eventfd(0, EFD_CLOEXEC)); }

TEST(Arrivals, WaitForAGroupThatComesLater) {
  Arrivals arrivals;
  arrivals.add_stream(7, 1, 0, some_fd());
  arrivals.add_mail(7, 2, 1, "early");
  arrivals.open(7);
  EXPECT_TRUE(arrivals.take_stream(7, 1, 0).has_value());
  EXPECT_FALSE(arrivals.take_stream(7, 1, 0).has_value());
  ASSERT_TRUE(arrivals.has_mail(7, 2, 1));
  EXPECT_EQ(arrivals.take_mail(7, 2, 1), "early");
  EXPECT_FALSE(arrivals.has_mail(7, 2, 1));
}

TEST(Arrivals, ForAClosedGroupAreDropped) {
  Arrivals arrivals;
  arrivals.open(7);
  arrivals.add_stream(7, 1, 0, some_fd());
  arrivals.add_mail(7, 2, 1, "unread");
  arrivals.add_mail(8, 2, 1, "of another group");
  arrivals.close(7);
  EXPECT_EQ(arrivals.streams(), 0u);
  EXPECT_EQ(arrivals.mail(), 1u);
  arrivals.add_stream(7, 1, 1, some_fd());
  arrivals.add_mail(7, 3, 1, "late");
  EXPECT_EQ(arrivals.streams(), 0u);
  EXPECT_EQ(arrivals.mail(), 1u);
  arrivals.open(7);
  arrivals.add_mail(7, 3, 1, "in time");
  EXPECT_TRUE(arrivals.has_mail(7, 3, 1));
}

TEST(Arrivals, OfTheLatestClosedGroupsAreDropped) {
  Arrivals arrivals;
  for (uint64_t group = 0; group < 10'000; ++group) arrivals.close(group);
  arrivals.add_mail(9'999, 1, 0, "late");
  arrivals.add_mail(9'000, 1, 0, "late");
  EXPECT_EQ(arrivals.mail(), 0u);
}

}  // namespace
}  // namespace rondo
