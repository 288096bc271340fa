#include "rondo/base/function_ref.h"

#include <gtest/gtest.h>

#include <memory>

namespace rondo {
namespace {

int twice(FunctionRef<int(int)> f, int x) { return f(f(x)); }

TEST(FunctionRef, CallsWhatItRefersTo) {
  int calls = 0;
  EXPECT_EQ(twice(
                [&](int x) {
                  ++calls;
                  return x + 3;
                },
                1),
            7);
  EXPECT_EQ(calls, 2);
}

TEST(FunctionRef, SeesChangesOfIt) {
  int step = 1;
  const auto add = [&step](int x) { return x + step; };
  const FunctionRef<int(int)> f = add;
  step = 10;
  EXPECT_EQ(f(1), 11);
}

TEST(FunctionRef, MovesItsArguments) {
  const auto take = [](std::unique_ptr<int> p) { return *p; };
  const FunctionRef<int(std::unique_ptr<int>)> f = take;
  EXPECT_EQ(f(std::make_unique<int>(5)), 5);
}

}  // namespace
}  // namespace rondo
