#include "rondo/collectives/contested_cores.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rondo {
namespace {

using std::chrono::milliseconds;

constexpr Clock::time_point kStart{std::chrono::hours(1)};

TEST(ContestedCores, AtFirstNobodyElseWantsTheCores) {
  const ContestedCores cores;
  EXPECT_FALSE(cores.found(kStart));
  EXPECT_FALSE(cores.ever_found());
}

TEST(ContestedCores, TheRanksThemselvesAreNoOtherProgram) {
  ContestedCores cores;
  cores.expect(4);
  EXPECT_FALSE(cores.yielded_long(4, kStart));
  EXPECT_FALSE(cores.found(kStart));
  EXPECT_TRUE(cores.yielded_long(5, kStart));
  EXPECT_TRUE(cores.found(kStart));
}

TEST(ContestedCores, WhereTheSystemDoesNotSayALongYieldTells) {
  ContestedCores cores;
  cores.expect(4);
  EXPECT_TRUE(cores.yielded_long(0, kStart));
}

TEST(ContestedCores, IsForgotten) {
  ContestedCores cores;
  cores.yielded_long(2, kStart);
  const auto end = kStart + ContestedCores::kFirstBelief;
  EXPECT_TRUE(cores.found(end - milliseconds(1)));
  EXPECT_FALSE(cores.found(end));
}

TEST(ContestedCores, IsBelievedLongerWhereItStays) {
  ContestedCores cores;
  auto at = kStart;
  auto belief = ContestedCores::kFirstBelief;
  for (int i = 0; i < 20; ++i) {
    cores.yielded_long(2, at);
    EXPECT_TRUE(cores.found(at + belief - milliseconds(1))) << i;
    EXPECT_FALSE(cores.found(at + belief)) << i;
    at += belief + milliseconds(1);
    belief = std::min(2 * belief, ContestedCores::kLongestBelief);
  }
  EXPECT_EQ(belief, ContestedCores::kLongestBelief);
  // Gone for a while, it is new again.
  at += 2 * ContestedCores::kLongestBelief;
  cores.yielded_long(2, at);
  EXPECT_FALSE(cores.found(at + ContestedCores::kFirstBelief));
}

}  // namespace
}  // namespace rondo
