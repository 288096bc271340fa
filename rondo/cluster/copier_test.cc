#include "rondo/cluster/copier.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

namespace rondo {
namespace {

std::vector<int> counting(size_t bytes) {
  std::vector<int> made(bytes / sizeof(int) + 1);
  std::iota(made.begin(), made.end(), 1);
  return made;
}

// Of each size exactly that, by any number of threads, for several callers.
TEST(Copier, CopiesAllAndNoMore) {
  for (const int helpers : {0, 1, 3}) {
    Copier copier(helpers);
    std::vector<std::thread> callers;
    for (int c = 0; c < 3; ++c)
      callers.emplace_back([&] {
        for (const size_t bytes : {size_t{0}, size_t{1}, (size_t{2} << 20) - 1,
                                   (size_t{2} << 20) + 5, size_t{9'000'001}}) {
          const std::vector<int> from = counting(bytes);
          std::vector<char> to(bytes + 1, 'x');
          copier.copy(to.data(), from.data(), bytes);
          EXPECT_EQ(std::memcmp(to.data(), from.data(), bytes), 0);
          EXPECT_EQ(to[bytes], 'x');
        }
      });
    for (std::thread& caller : callers) caller.join();
    copier.copy(nullptr, nullptr, 0);
  }
}

TEST(Copier, LeavesACoreToTheCaller) {
  EXPECT_EQ(Copier::helpers_for(1), 0);
  EXPECT_EQ(Copier::helpers_for(2), 1);
  EXPECT_EQ(Copier::helpers_for(64), 3);
}

}  // namespace
}  // namespace rondo
