#include "rondo/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "rondo/tensor/heap.h"

namespace rondo {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// The message of the Error that `body` throws.
template <class Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape().count(), 1);
  EXPECT_EQ(Shape({2, 3, 4}).count(), 24);
  EXPECT_EQ(Shape({2, 0, 4}).count(), 0);
  EXPECT_EQ(Shape({2, 3}).to_string(), "[2, 3]");
  EXPECT_EQ(Shape().to_string(), "[]");
  EXPECT_EQ(Shape({5, 6}).rank(), 2);
  EXPECT_EQ(Shape({5, 6})[1], 6);
}

TEST(Shape, RefusesNegativeExtents) {
  EXPECT_EQ(message_of([] {
              (void)Shape({2, -3}).count();
            }),
            "shape [2, -3] has the negative extent -3");
  EXPECT_THAT(message_of([] {
                (void)Shape({0, -3}).count();
              }),
              HasSubstr("negative"));
}

TEST(Shape, RefusesCountsBeyond64Bits) {
  constexpr int64_t kBig = int64_t{1} << 32;
  EXPECT_THAT(message_of([] {
                (void)Shape({kBig, kBig}).count();
              }),
              HasSubstr("[4294967296, 4294967296] has more elements"));
  EXPECT_THAT(message_of([] {
                (void)Shape({kBig, kBig / 2}).count();
              }),
              HasSubstr("more elements"));
  EXPECT_EQ(Shape({kBig, kBig, 0}).count(), 0);
  EXPECT_EQ(Shape({std::numeric_limits<int64_t>::max()}).count(),
            std::numeric_limits<int64_t>::max());
}

TEST(Tensor, DefaultHasNoElements) {
  const Tensor t;
  EXPECT_EQ(t.count(), 0);
  EXPECT_EQ(t.bytes(), 0u);
  EXPECT_EQ(t.to_string(), "f32[0]");
  EXPECT_EQ(t.clone().to_string(), "f32[0]");
  EXPECT_TRUE(t.span<float>().empty());
}

TEST(Tensor, FillsWithZerosOrAValue) {
  EXPECT_THAT(Tensor::zeros({100}, DType::kI64).span<int64_t>(), Each(0));
  const Tensor t = Tensor::full({2, 3}, 1.5f);
  EXPECT_EQ(t.dtype(), DType::kF32);
  EXPECT_EQ(t.bytes(), 24u);
  EXPECT_THAT(t.span<float>(), Each(1.5f));
}

TEST(Tensor, TakesValues) {
  const std::vector<int32_t> values = {1, 2, 3, 4};
  const Tensor t = Tensor::of<int32_t>({2, 2}, values);
  EXPECT_THAT(t.span<int32_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THROW(Tensor::of<int32_t>({3}, values), Error);
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor t = Tensor::full({4}, 1.0f);
  Tensor copy = t;
  Tensor clone = t.clone();
  t.span<float>()[0] = 2;
  EXPECT_EQ(copy.span<float>()[0], 2);
  EXPECT_EQ(clone.span<float>()[0], 1);
  EXPECT_EQ(clone.shape(), t.shape());
}

TEST(Tensor, ReshapeSharesTheBuffer) {
  Tensor t = Tensor::full({6}, 1.0f);
  const Tensor r = t.reshape({2, 3});
  EXPECT_EQ(r.data(), t.data());
  EXPECT_EQ(r.shape(), Shape({2, 3}));
  EXPECT_EQ(message_of([&] { (void)t.reshape({4}); }),
            "a tensor of shape [6] cannot be reshaped to [4]: 6 elements "
            "against 4");
}

TEST(Tensor, GivesItsElementsAsTheirTypeOnly) {
  Tensor t = Tensor::zeros({4}, DType::kF16);
  EXPECT_EQ(t.span<Half>().size(), 4u);
  EXPECT_EQ(message_of([&] { (void)t.span<float>(); }),
            "a tensor of f16 was asked for its elements as f32");
}

TEST(Tensor, LivesInTheSharedHeap) {
  const Tensor t = Tensor::empty({1000});
  EXPECT_TRUE(SharedHeap::process().offset_of(t.data(), t.bytes()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.data()) % 64, 0u);
}

TEST(Tensor, GivesItsMemoryBack) {
  const void* first = Tensor::empty({1 << 20}).data();
  EXPECT_EQ(Tensor::empty({1 << 20}).data(), first);
}

TEST(Tensor, HoldsMoreThanTwoToThe31Elements) {
  constexpr int64_t kCount = (int64_t{1} << 31) + 10;
  Tensor t = Tensor::empty({kCount}, DType::kU8);
  t.span<uint8_t>()[0] = 1;
  t.span<uint8_t>()[kCount - 1] = 2;
  EXPECT_EQ(t.bytes(), static_cast<size_t>(kCount));
  EXPECT_THAT(t.to_string(), testing::StartsWith("u8[2147483658] 1 "));
  EXPECT_THAT(t.to_string(), testing::EndsWith(" 2"));
}

TEST(Tensor, SaysWhenMemoryRunsOut) {
  constexpr int64_t kHuge = int64_t{1} << 60;
  const auto text = message_of([] { Tensor::empty({kHuge}, DType::kF64); });
  EXPECT_THAT(text,
              HasSubstr("no memory for a tensor f64[1152921504606846976]"));
  EXPECT_THAT(message_of([] { Tensor::empty({kHuge * 4}, DType::kF64); }),
              HasSubstr("no memory"));
  EXPECT_THAT(message_of([] { Tensor::empty({-1}); }), HasSubstr("negative"));
}

TEST(Tensor, PrintsItsElements) {
  EXPECT_EQ(Tensor::full({4}, 6.0f).to_string(), "f32[4] 6 6 6 6");
  EXPECT_EQ(Tensor::full({}, 0.5).to_string(), "f64[] 0.5");
  EXPECT_EQ(Tensor::full({1, 2}, Half::from_float(1.5f)).to_string(),
            "f16[1, 2] 1.5 1.5");
  EXPECT_EQ(Tensor::full({2}, BFloat16::from_float(-2)).to_string(),
            "bf16[2] -2 -2");
  EXPECT_EQ(Tensor::full({1}, int8_t{-65}).to_string(), "i8[1] -65");
  EXPECT_EQ(Tensor::full({1}, uint8_t{65}).to_string(), "u8[1] 65");
  EXPECT_EQ(Tensor::full({2}, true).to_string(), "bool[2] true true");
  EXPECT_EQ(Tensor::full({1}, int16_t{-3}).to_string(), "i16[1] -3");
}

TEST(Tensor, CutsLongTextInTheMiddle) {
  Tensor t = Tensor::empty({100}, DType::kI32);
  std::iota(t.span<int32_t>().begin(), t.span<int32_t>().end(), 0);
  EXPECT_EQ(t.to_string(),
            "i32[100] 0 1 2 3 4 5 6 7 ... 92 93 94 95 96 97 98 99");
  EXPECT_EQ(Tensor::zeros({16}, DType::kI32).to_string(),
            "i32[16] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
}

}  // namespace
}  // namespace rondo
