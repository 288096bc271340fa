#include "rondo/base/attempt.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rondo {
namespace {

TEST(Attempt, GivesTheStatusOrThatOfWhatWasThrown) {
  EXPECT_TRUE(attempt([] { return Status(); }).ok());
  const Status given =
      attempt([] { return error(Code::kTimeout, "too late"); });
  EXPECT_EQ(given.code(), Code::kTimeout);
  const Status ours =
      attempt([]() -> Status { throw Error(Code::kResource, "nothing left"); });
  EXPECT_EQ(ours.code(), Code::kResource);
  EXPECT_EQ(ours.message(), "nothing left");
  const Status other =
      attempt([]() -> Status { throw std::runtime_error("odd"); });
  EXPECT_EQ(other.code(), Code::kInternal);
  EXPECT_EQ(other.message(), "odd");
}

}  // namespace
}  // namespace rondo
