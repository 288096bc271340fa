#include <gtest/gtest.h>

#include "rondo/tensor/reduce.h"

namespace rondo {
namespace {

TEST(ReduceOp, NamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(ReduceOp::kUser); ++i) {
    const auto op = static_cast<ReduceOp>(i);
    EXPECT_EQ(reduce_op_from_name(name_of(op)), op);
  }
  EXPECT_EQ(name_of(ReduceOp::kBxor), "bxor");
  EXPECT_EQ(reduce_op_from_name("mean"), std::nullopt);
}

TEST(CheckReduce, SaysWhichOperatorsWouldWork) {
  const Status bitwise = check_reduce(ReduceOp::kBand, DType::kF16);
  EXPECT_EQ(bitwise.code(), Code::kInvalidArgument);
  EXPECT_EQ(bitwise.message(),
            "band is not defined for f16; use one of sum, avg, prod, min, max, "
            "user");
  const Status avg = check_reduce(ReduceOp::kAvg, DType::kBool);
  EXPECT_EQ(avg.message(),
            "avg is not defined for bool; use one of sum, prod, min, max, "
            "band, bor, bxor, user");
  EXPECT_TRUE(check_reduce(ReduceOp::kAvg, DType::kU8).ok());
  EXPECT_TRUE(check_reduce(ReduceOp::kBxor, DType::kBool).ok());
  EXPECT_TRUE(check_reduce(ReduceOp::kUser, DType::kF64).ok());
}

TEST(CheckReduce, RefusesNumbersThatAreNoOperatorOrDType) {
  EXPECT_EQ(check_reduce(static_cast<ReduceOp>(9), DType::kF32).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(check_reduce(ReduceOp::kSum, static_cast<DType>(10)).code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace rondo
