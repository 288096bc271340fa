#include "rondo/graph/known_ints.h"

#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gathering.h"
#include "rondo/graph/ops/joining.h"
#include "rondo/graph/ops/slicing.h"

namespace rondo {
namespace {

class KnownInts : public testing::Test {
 protected:
  Graph g;
  Value x = placeholder(g, {.shape = {kAny, 28, 3}});
  Value shape = shape_of(x);
  Value ten = constant_ints(g, {10});
};

TEST_F(KnownInts, OfConstantsAndShapes) {
  EXPECT_EQ(known_ints(ten), Ints({10}));
  EXPECT_EQ(known_ints(shape), Ints({kAny, 28, 3}));
  EXPECT_EQ(known_ints(shape_of(placeholder(g))), std::nullopt);
  EXPECT_EQ(known_ints(constant(g, 1, DType::kF32)), std::nullopt);
}

TEST_F(KnownInts, OfPartsOfShapes) {
  EXPECT_EQ(known_ints(rows(shape, 1, 3)), Ints({28, 3}));
  EXPECT_EQ(known_ints(element(shape, -1)), Ints({3}));
  EXPECT_EQ(known_ints(gather(shape, constant_ints(g, {2, 0}))),
            Ints({3, kAny}));
  const Value later = placeholder(g, {.dtype = DType::kI64, .shape = {2}});
  EXPECT_EQ(known_ints(gather(shape, later)), std::nullopt);
  EXPECT_EQ(known_ints(rows(shape_of(placeholder(g)), 0, 1)), std::nullopt);
}

TEST_F(KnownInts, OfShapesPutTogether) {
  EXPECT_EQ(known_ints(concat({rows(shape, 0, 1), ten}, 0)), Ints({kAny, 10}));
  const Value n = placeholder(g, {.dtype = DType::kI64, .shape = Shape{}});
  EXPECT_EQ(known_ints(stack({n, element(shape, 1)})), Ints({kAny, 28}));
  const Value of_unknown_length =
      placeholder(g, {.dtype = DType::kI64, .shape = {kAny}});
  EXPECT_EQ(known_ints(concat({of_unknown_length, ten}, 0)), std::nullopt);
}

TEST_F(KnownInts, OfArithmetic) {
  const Value product = element(shape, 1) * element(shape, 2);
  EXPECT_EQ(known_ints(product), Ints({84}));
  EXPECT_EQ(known_ints(cast(product, DType::kI32)), Ints({84}));
  EXPECT_EQ(known_ints(element(shape, 0) * ten), Ints({kAny}));
  EXPECT_EQ(known_ints(floor_div(ten, constant_ints(g, {3}))), Ints({3}));
  EXPECT_EQ(known_ints(floor_div(ten, constant_ints(g, {0}))), Ints({kAny}));
  const Value large = constant_ints(g, {INT64_MAX});
  EXPECT_EQ(known_ints(large * ten), Ints({kAny}));
  EXPECT_EQ(known_ints(shape + ten), Ints({kAny, 38, 13}));
}

TEST_F(KnownInts, GiveShapesWhileBuilding) {
  EXPECT_EQ(reshape(x, concat({rows(shape, 0, 1), constant_ints(g, {-1})}, 0))
                .shape(),
            PartialShape({kAny, kAny}));
  const Value flat = element(shape, 1) * element(shape, 2);
  EXPECT_EQ(reshape(x, stack({element(shape, 0), flat})).shape(),
            PartialShape({kAny, 84}));
  EXPECT_EQ(
      fill(concat({rows(shape, 0, 1), ten}, 0), constant(g, 0, DType::kF32))
          .shape(),
      PartialShape({kAny, 10}));
  // One extent that is not known follows from the others.
  const Value y = placeholder(g, {.shape = {6, 4}});
  const Value n = placeholder(g, {.dtype = DType::kI64, .shape = Shape{}});
  const Value two = constant(g, Tensor::full<int64_t>(Shape{}, 2));
  EXPECT_EQ(reshape(y, stack({n, two})).shape(), PartialShape({12, 2}));
  EXPECT_THROW(
      reshape(y, stack({n, cast(element(shape, 1), DType::kI64) * two})),
      Error);
}

}  // namespace
}  // namespace rondo
