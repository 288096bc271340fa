#include "rondo/base/cores.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "rondo/base/clock.h"

namespace rondo {
namespace {

int share(std::map<std::string, std::string> variables, int available = 16,
          int all = 16) {
  return share_of_cores(Env(std::move(variables)), available, all).value();
}

TEST(Cores, AloneOnTheHost) {
  EXPECT_EQ(share({}), 16);
  EXPECT_GE(available_cores(), 1);
  EXPECT_GE(share_of_cores(), 1);
}

TEST(Cores, ThreadsThatWantThem) {
  std::atomic<bool> stop = false;
  {
    std::vector<std::jthread> busy;
    for (int i = 0; i < 5; ++i)
      busy.emplace_back([&stop] {
        while (!stop) {
        }
      });
    const Deadline deadline(std::chrono::seconds(60));
    int most = threads_wanting_cores();
    while (most > 0 && most < 6 && !deadline.passed()) {
      std::this_thread::yield();
      most = std::max(most, threads_wanting_cores());
    }
    stop = true;
    if (most == 0) GTEST_SKIP() << "this system has no /proc/loadavg";
    EXPECT_GE(most, 6);  // those and this one
  }
}

TEST(Cores, EachRankHasItsShare) {
  EXPECT_EQ(share({{"RONDO_LOCAL_SIZE", "4"}}), 4);
  EXPECT_EQ(share({{"LOCAL_WORLD_SIZE", "5"}}), 3);
  EXPECT_EQ(share({{"OMPI_COMM_WORLD_LOCAL_SIZE", "16"}}), 1);
  EXPECT_EQ(share({{"MPI_LOCALNRANKS", "40"}}), 1);
}

TEST(Cores, BoundByTheLauncher) {
  EXPECT_EQ(share({{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}, 4), 4);
}

TEST(Cores, AsTold) {
  EXPECT_EQ(share({{"RONDO_NUM_THREADS", "3"}, {"RONDO_LOCAL_SIZE", "16"}}), 3);
}

TEST(Cores, NonsenseIsAnError) {
  const Env env(
      std::map<std::string, std::string>{{"RONDO_NUM_THREADS", "many"}});
  const auto share = share_of_cores(env, 4, 4);
  ASSERT_FALSE(share.ok());
  EXPECT_NE(share.status().message().find("RONDO_NUM_THREADS"),
            std::string::npos);
}

}  // namespace
}  // namespace rondo
