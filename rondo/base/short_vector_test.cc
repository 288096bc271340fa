#include "rondo/base/short_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace rondo {
namespace {

using Short = ShortVector<int, 3>;

std::vector<int> all(const Short& v) { return {v.begin(), v.end()}; }

TEST(ShortVector, GrowsBeyondWhatItHasInPlace) {
  Short v;
  for (int i = 0; i < 5; ++i) {
    v.push_back(i);
    EXPECT_EQ(v.back(), i);
  }
  EXPECT_EQ(all(v), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(all(Short(4, 7)), (std::vector<int>{7, 7, 7, 7}));
}

TEST(ShortVector, CopiesAreTheirOwn) {
  Short v{1, 2, 3, 4};
  Short w = v;
  w[3] = 9;
  w.pop_back();
  EXPECT_EQ(all(v), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(all(w), (std::vector<int>{1, 2, 3}));
}

// The same changes to it and to a std::vector.
TEST(ShortVector, IsAsAVector) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    Short v;
    std::vector<int> expected;
    for (int i = 0; i < 30; ++i) {
      const auto at = static_cast<ptrdiff_t>(random() % (v.size() + 1));
      const int x = static_cast<int>(random() % 100);
      const int some[] = {x, x + 1};
      switch (random() % 4) {
        case 0:
          v.insert(v.begin() + at, x);
          expected.insert(expected.begin() + at, x);
          break;
        case 1:
          v.insert(v.begin() + at, some, some + 2);
          expected.insert(expected.begin() + at, some, some + 2);
          break;
        default:
          if (at == static_cast<ptrdiff_t>(v.size())) break;
          v.erase(v.begin() + at);
          expected.erase(expected.begin() + at);
      }
      ASSERT_EQ(all(v), expected);
    }
  }
}

}  // namespace
}  // namespace rondo
