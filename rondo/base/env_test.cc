#include "rondo/base/env.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(Env, NumbersAreCheckedAgainstTheirRange) {
  Env env({{"N", "4"}, {"BIG", "99999999999999999999"}, {"TEXT", "4x"}});
  EXPECT_EQ(env.get_int("N", 1, 0, 8).value(), 4);
  EXPECT_EQ(env.get_int("UNSET", 7, 0, 8).value(), 7);
  EXPECT_EQ(env.get_int("N", 1, 0, 3).status().message(),
            "N=4: expected a whole number from 0 to 3");
  EXPECT_FALSE(env.get_int("BIG", 1, 0, 8).ok());
  EXPECT_FALSE(env.get_int("TEXT", 1, 0, 8).ok());
}

TEST(Env, SecondsArePositive) {
  Env env({{"A", "2.5"}, {"B", "0"}, {"C", "-1"}, {"D", "nan"}});
  EXPECT_DOUBLE_EQ(env.get_seconds("A", 1).value(), 2.5);
  EXPECT_FALSE(env.get_seconds("B", 1).ok());
  EXPECT_FALSE(env.get_seconds("C", 1).ok());
  EXPECT_FALSE(env.get_seconds("D", 1).ok());
}

TEST(Env, EmptyCountsAsUnset) {
  Env env(std::map<std::string, std::string>{{"A", ""}});
  EXPECT_FALSE(env.has("A"));
  EXPECT_TRUE(env.get_bool("A", true).value());
}

}  // namespace
}  // namespace rondo
