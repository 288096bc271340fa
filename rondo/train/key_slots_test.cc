#include "rondo/train/key_slots.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(KeySlots, NoTwoThatMayBeUnderWayShareOne) {
  constexpr int64_t kWindow = 3;
  KeySlots slots(kWindow);
  std::map<size_t, int64_t> last;
  for (int64_t number = 0; number < 20; ++number) {
    const size_t slot = slots.take("mean", number);
    EXPECT_LT(slot, kWindow);
    if (last.contains(slot)) {
      EXPECT_LE(last[slot], number - kWindow);
    }
    last[slot] = number;
  }
}

TEST(KeySlots, WhatIsOverIsTakenAgain) {
  KeySlots slots(4);
  // Two kinds in each step of four exchanges: one key each.
  for (int64_t step = 0; step < 5; ++step) {
    EXPECT_EQ(slots.take("large", 4 * step), 0);
    EXPECT_EQ(slots.take("small", 4 * step + 1), 0);
    EXPECT_EQ(slots.take("small", 4 * step + 2), 1);
  }
}

}  // namespace
}  // namespace rondo
