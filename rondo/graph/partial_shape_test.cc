#include "rondo/graph/partial_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using testing::HasSubstr;

TEST(PartialShape, KnowsWhatItKnows) {
  EXPECT_FALSE(PartialShape().has_rank());
  EXPECT_EQ(PartialShape().to_string(), "?");
  const PartialShape shape{kAny, 784};
  EXPECT_EQ(shape.rank(), 2);
  EXPECT_FALSE(shape.known());
  EXPECT_EQ(shape.count(), kAny);
  EXPECT_EQ(shape.to_string(), "[?, 784]");
  EXPECT_TRUE(PartialShape::scalar().known());
  EXPECT_EQ(PartialShape::scalar().count(), 1);
  EXPECT_EQ((PartialShape{2, 3}).to_shape(), (Shape{2, 3}));
  EXPECT_THROW((PartialShape{-2}), Error);
}

TEST(PartialShape, Merges) {
  const PartialShape a{kAny, 3};
  const PartialShape b{2, kAny};
  EXPECT_EQ(merge(a, b).value(), (PartialShape{2, 3}));
  EXPECT_EQ(merge(PartialShape(), b).value(), b);
  const auto bad = merge({2, 3}, {2, 4});
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.status().message(), HasSubstr("[2, 3] and [2, 4]"));
  EXPECT_FALSE(merge({2}, {2, 2}).ok());
}

TEST(PartialShape, Broadcasts) {
  EXPECT_EQ(broadcast({4, 1, 3}, {5, 1}).value(), (PartialShape{4, 5, 3}));
  EXPECT_EQ(broadcast({3}, PartialShape::scalar()).value(), (PartialShape{3}));
  EXPECT_EQ(broadcast({kAny, 3}, {1}).value(), (PartialShape{kAny, 3}));
  // An unknown extent is either 1 or the other.
  EXPECT_EQ(broadcast({kAny}, {7}).value(), (PartialShape{7}));
  EXPECT_EQ(broadcast({kAny}, {1}).value(), (PartialShape{kAny}));
  EXPECT_FALSE(broadcast(PartialShape(), {1}).value().has_rank());
  EXPECT_FALSE(broadcast({2}, {3}).ok());
}

TEST(PartialShape, ResolvesAxes) {
  EXPECT_EQ(resolve_axis(-1, 3).value(), 2);
  EXPECT_EQ(resolve_axis(0, 3).value(), 0);
  EXPECT_FALSE(resolve_axis(3, 3).ok());
  EXPECT_FALSE(resolve_axis(-4, 3).ok());
}

}  // namespace
}  // namespace rondo
