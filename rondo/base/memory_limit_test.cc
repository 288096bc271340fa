#include "rondo/base/memory_limit.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rondo {
namespace {

class MemoryLimit : public ::testing::Test {
 protected:
  ~MemoryLimit() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  const std::string root_ =
      testing::TempDir() + "memory_limit_" + std::to_string(getpid());
};

TEST_F(MemoryLimit, IsTheMachinesWhereNobodyLimitsIt) {
  EXPECT_GT(memory_limit(root_), 1e6);
  EXPECT_LE(memory_limit(), memory_limit(root_));
  write("/proc/self/cgroup", "0::/job/step");
  write("/sys/fs/cgroup/job/step/memory.max", "max");
  EXPECT_GT(memory_limit(root_), 1e6);
}

TEST_F(MemoryLimit, IsTheLeastOfAControlGroupAndThoseAroundIt) {
  write("/proc/self/cgroup", "0::/job/step");
  write("/sys/fs/cgroup/job/step/memory.max", "300000");
  EXPECT_EQ(memory_limit(root_), 300'000);
  write("/sys/fs/cgroup/job/memory.max", "200000");
  EXPECT_EQ(memory_limit(root_), 200'000);
  write("/sys/fs/cgroup/memory.max", "100000");
  EXPECT_EQ(memory_limit(root_), 100'000);
}

TEST_F(MemoryLimit, MayBeOfTheFirstVersion) {
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "100000");
  EXPECT_EQ(memory_limit(root_), 100'000);
  write("/proc/self/cgroup", "2:cpu:/cpu\n5:hugetlb,memory:/job/step\n0::/");
  write("/sys/fs/cgroup/memory/cpu/memory.limit_in_bytes", "1000");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "60000");
  EXPECT_EQ(memory_limit(root_), 60'000);
  write("/sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "50000");
  EXPECT_EQ(memory_limit(root_), 50'000);
}

}  // namespace
}  // namespace rondo
