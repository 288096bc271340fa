#include "rondo/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rondo {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return error(Code::kInvalidArgument, "{} is odd", x);
  return x / 2;
}

Result<int> quarter(int x) {
  RONDO_ASSIGN_OR_RETURN(const int h, half(x));
  return half(h);
}

TEST(Status, DefaultIsOk) {
  Status s;
  EXPECT_TRUE(s.ok());
  EXPECT_EQ(s.to_string(), "ok");
  EXPECT_NO_THROW(s.value());
}

TEST(Status, CarriesCodeAndMessageToEveryCopy) {
  Status s = error(Code::kPeerLost, "rank {} was lost", 3);
  Status copy = s;
  EXPECT_EQ(copy.code(), Code::kPeerLost);
  EXPECT_EQ(copy.to_string(), "peer lost: rank 3 was lost");
  EXPECT_EQ(copy.with_context("allreduce").message(),
            "allreduce: rank 3 was lost");
}

TEST(Status, ValueThrowsTheTypedError) {
  try {
    error(Code::kTimeout, "late").value();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kTimeout);
    EXPECT_STREQ(e.what(), "late");
  }
}

TEST(Status, TheCauseStaysWithIt) {
  class Mine final : public Cause {};
  const auto cause = std::make_shared<const Mine>();
  const Status failed = error(Code::kTimeout, "late").with_cause(cause);
  EXPECT_EQ(failed.with_context("rank 1").cause(), cause);
  EXPECT_EQ(failed.with_context("rank 1").message(), "rank 1: late");
  EXPECT_EQ(error(Code::kTimeout, "late").cause(), nullptr);
  EXPECT_TRUE(Status().with_cause(cause).ok());
  EXPECT_EQ(Status().with_cause(cause).cause(), nullptr);
}

TEST(Status, ErrnoIsExplained) {
  EXPECT_EQ(errno_error(Code::kUnavailable, ECONNREFUSED, "connect").message(),
            "connect: Connection refused");
}

TEST(Result, PropagatesTheFirstFailure) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).status().message(), "3 is odd");
  EXPECT_THROW(quarter(5).value(), Error);
}

}  // namespace
}  // namespace rondo
