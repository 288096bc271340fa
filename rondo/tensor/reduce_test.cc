#include "rondo/tensor/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace rondo {
namespace {

constexpr int kRanks = 3;
constexpr size_t kMaxIns = 9;
constexpr size_t kMaxOuts = 5;
constexpr size_t kCounts[] = {0,  1,  2,  3,  7,  8,    15,
                              16, 17, 63, 64, 65, 1000, 4099};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kProd,
                             ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kBand,
                             ReduceOp::kBor, ReduceOp::kBxor};

// Runs `body` on every instruction set that this processor and this build have.
template <class Body>
void on_every_target(Body body) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// The reference: one operand after the other, in the plainest way.
template <class T>
T fold(ReduceOp op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case ReduceOp::kProd: return a * b;
      case ReduceOp::kMin:
        if (std::isnan(a) || std::isnan(b)) return a + b;
        return b < a ? b : a;
      case ReduceOp::kMax:
        if (std::isnan(a) || std::isnan(b)) return a + b;
        return b > a ? b : a;
      default: return a + b;
    }
  } else {
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    switch (op) {
      case ReduceOp::kProd: return static_cast<T>(x * y);
      case ReduceOp::kMin: return std::min(a, b);
      case ReduceOp::kMax: return std::max(a, b);
      case ReduceOp::kBand: return static_cast<T>(x & y);
      case ReduceOp::kBor: return static_cast<T>(x | y);
      case ReduceOp::kBxor: return static_cast<T>(x ^ y);
      default: return static_cast<T>(x + y);
    }
  }
}

template <class T>
T expected(ReduceOp op, const std::vector<std::vector<T>>& in, size_t ins,
           size_t i) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    float acc = in[0][i].to_float();
    for (size_t s = 1; s < ins; ++s) acc = fold(op, acc, in[s][i].to_float());
    if (op == ReduceOp::kAvg) acc *= 1.0f / kRanks;
    return T::from_float(acc);
  } else if constexpr (std::is_same_v<T, bool>) {
    int trues = 0;
    for (size_t s = 0; s < ins; ++s) trues += in[s][i];
    if (op == ReduceOp::kBxor) return trues % 2;
    const bool any =
        op == ReduceOp::kSum || op == ReduceOp::kMax || op == ReduceOp::kBor;
    return any ? trues > 0 : trues == static_cast<int>(ins);
  } else {
    T acc = in[0][i];
    for (size_t s = 1; s < ins; ++s) acc = fold(op, acc, in[s][i]);
    if (op == ReduceOp::kAvg) {
      if constexpr (std::is_floating_point_v<T>)
        acc *= T{1} / kRanks;
      else
        acc = static_cast<T>(acc / kRanks);
    }
    return acc;
  }
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return std::isnan(x.to_float());
  else
    return false;
}

// The same bits, or both NaN.
template <class T>
bool same(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (is_nan(a) && is_nan(b));
}

template <class T>
T random_element(std::mt19937_64& random) {
  const uint64_t bits = random();
  if constexpr (std::is_same_v<T, bool>) {
    return bits % 4 == 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    constexpr T kSpecial[] = {T{0},
                              -T{0},
                              Limits::max(),
                              Limits::denorm_min(),
                              Limits::infinity(),
                              -Limits::infinity(),
                              Limits::quiet_NaN(),
                              Limits::lowest()};
    if (bits % 16 == 0) return kSpecial[(bits >> 8) % std::size(kSpecial)];
    return static_cast<T>(static_cast<int64_t>(bits)) * T(0x1p-62);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits >> 20);
  } else {
    return T{static_cast<uint16_t>(bits >> 20)};
  }
}

// An array somewhere in a larger one, whose other elements must not change.
template <class T>
class Guarded {
 public:
  Guarded(size_t offset, size_t count)
      : offset_(offset), bytes_((count + offset + kPad) * sizeof(T) + 64) {
    std::memset(bytes_.data(), 0x5a, bytes_.size());
    const auto at = reinterpret_cast<uintptr_t>(bytes_.data());
    start_ = bytes_.data() + (0 - at) % 64 + offset * sizeof(T);
    count_ = count;
  }
  T* data() { return reinterpret_cast<T*>(start_); }
  void fill(const std::vector<T>& values) {
    for (size_t i = 0; i < count_; ++i) data()[i] = values[i];
  }
  bool surroundings_intact() const {
    const char* end = start_ + count_ * sizeof(T);
    for (const char& byte : bytes_)
      if ((&byte < start_ || &byte >= end) && byte != 0x5a) return false;
    return true;
  }

 private:
  static constexpr size_t kPad = 80;
  size_t offset_;
  size_t count_;
  std::vector<char> bytes_;
  char* start_;
};

template <class T>
class ReduceOf : public testing::Test {
 protected:
  static constexpr DType kDType = dtype_of<T>;

  ReduceOf() {
    std::mt19937_64 random(42);
    for (auto& values : in_) {
      values.resize(kCounts[std::size(kCounts) - 1]);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = random_element<T>(random);
    }
  }

  // Reduces `ins` sources into `outs` destinations; destination j is source j
  // itself for j < aliased. The arrays start at various offsets.
  void check(ReduceOp op, size_t count, size_t ins, size_t outs, size_t aliased,
             bool streaming, const std::vector<T>& want) {
    std::vector<Guarded<T>> sources, targets;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t s = 0; s < ins; ++s) {
      sources.emplace_back((turn_ * 5 + s) % 7, count);
      sources.back().fill(in_[s]);
      in.push_back(sources.back().data());
    }
    // Two turns in three the destinations have the same alignment.
    const size_t spread = turn_ % 3 == 0 ? 1 : 0;
    for (size_t j = 0; j < outs; ++j) {
      targets.emplace_back(turn_ / 3 % 4 + spread * j, count);
      out.push_back(j < aliased ? sources[j].data() : targets.back().data());
    }
    ++turn_;
    reduce_many(op, kDType, out, in, count, kRanks, streaming);
    for (size_t j = 0; j < outs; ++j)
      for (size_t i = 0; i < count; ++i)
        ASSERT_TRUE(same(static_cast<T*>(out[j])[i], want[i]))
            << name_of(op) << " of " << ins << " into " << outs << ", element "
            << i << " of " << count << " of destination " << j;
    for (const auto& g : sources) ASSERT_TRUE(g.surroundings_intact());
    for (const auto& g : targets) ASSERT_TRUE(g.surroundings_intact());
  }

  void check_op(ReduceOp op) {
    for (size_t count : kCounts)
      for (size_t ins = 1; ins <= kMaxIns; ++ins) {
        std::vector<T> want(count);
        for (size_t i = 0; i < count; ++i)
          want[i] = expected<T>(op, in_, ins, i);
        for (size_t outs = 1; outs <= kMaxOuts; ++outs) {
          // Long arrays: every number of sources and of destinations, but not
          // every pair of them, which would take minutes under a sanitizer.
          if (count >= 1000 && outs != ins % kMaxOuts + 1) continue;
          const bool streaming = (outs + ins + count) % 2 == 0;
          check(op, count, ins, outs, 0, streaming, want);
          check(op, count, ins, outs, std::min(ins, outs), !streaming, want);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
  }

  std::vector<std::vector<T>> in_{kMaxIns};
  size_t turn_ = 0;
};

using AllTypes = testing::Types<double, float, Half, BFloat16, int64_t, int32_t,
                                int16_t, int8_t, uint8_t, bool>;
TYPED_TEST_SUITE(ReduceOf, AllTypes);

TYPED_TEST(ReduceOf, ManyMatchesTheReferenceOnEveryTarget) {
  on_every_target([&] {
    for (ReduceOp op : kOps)
      if (check_reduce(op, this->kDType).ok()) this->check_op(op);
  });
}

TYPED_TEST(ReduceOf, PairMatchesMany) {
  using T = TypeParam;
  for (ReduceOp op : kOps) {
    if (!check_reduce(op, this->kDType).ok()) continue;
    const ReduceOp many = op == ReduceOp::kAvg ? ReduceOp::kSum : op;
    for (size_t count : kCounts) {
      Guarded<T> acc(1, count), in(2, count);
      acc.fill(this->in_[0]);
      in.fill(this->in_[1]);
      reduce(op, this->kDType, acc.data(), in.data(), count);
      for (size_t i = 0; i < count; ++i)
        ASSERT_TRUE(same(acc.data()[i], expected<T>(many, this->in_, 2, i)))
            << name_of(op) << " " << i << " of " << count;
      ASSERT_TRUE(acc.surroundings_intact());
    }
  }
}

TYPED_TEST(ReduceOf, FinishAvgIsWhatAvgDoesToOneSource) {
  using T = TypeParam;
  if (!check_reduce(ReduceOp::kAvg, this->kDType).ok()) return;
  for (size_t count : kCounts) {
    Guarded<T> data(1, count);
    data.fill(this->in_[0]);
    finish_avg(this->kDType, data.data(), count, kRanks);
    for (size_t i = 0; i < count; ++i)
      ASSERT_TRUE(
          same(data.data()[i], expected<T>(ReduceOp::kAvg, this->in_, 1, i)))
          << i << " of " << count;
    ASSERT_TRUE(data.surroundings_intact());
  }
}

TYPED_TEST(ReduceOf, ElementsMayStartAtAnyByte) {
  using T = TypeParam;
  constexpr size_t kCount = 1000;
  std::vector<char> a(kCount * sizeof(T) + 1), b(a), out(a);
  std::memset(a.data(), 1, a.size());
  std::memset(b.data(), 1, b.size());
  on_every_target([&] {
    const void* in[] = {a.data() + 1, b.data() + 1};
    void* to[] = {out.data() + 1};
    reduce_many(ReduceOp::kMax, this->kDType, to, in, kCount, 1, true);
    EXPECT_EQ(std::memcmp(out.data() + 1, a.data() + 1, a.size() - 1), 0);
    std::memset(out.data() + 1, 0, out.size() - 1);
  });
}

// Every 16-bit pattern through the vector conversions and back.
template <class T>
void check_conversions() {
  std::vector<T> all(0x10000), out(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i].bits = static_cast<uint16_t>(i);
  on_every_target([&] {
    const void* in[] = {all.data()};
    void* to[] = {out.data()};
    reduce_many(ReduceOp::kSum, dtype_of<T>, to, in, all.size(), 1, false);
    for (size_t i = 0; i < all.size(); ++i)
      ASSERT_TRUE(same(out[i], all[i])) << i;
    reduce_many(ReduceOp::kAvg, dtype_of<T>, to, in, all.size(), 7, false);
    for (size_t i = 0; i < all.size(); ++i)
      ASSERT_TRUE(same(out[i], T::from_float(all[i].to_float() * (1.0f / 7))))
          << i;
  });
}
TEST(Reduce, EveryHalf) { check_conversions<Half>(); }
TEST(Reduce, EveryBFloat16) { check_conversions<BFloat16>(); }

TEST(Reduce, SixteenBitSumsRoundOnce) {
  // In f16 1 + 2^-11 rounds back to 1, so rounding after each addition loses
  // both small terms.
  const Half big{0x3c00}, small{0x1000};
  ASSERT_EQ(small.to_float(), 0x1p-11f);
  const void* in[] = {&big, &small, &small};
  Half out;
  void* to[] = {&out};
  reduce_many(ReduceOp::kSum, DType::kF16, to, in, 1, 1, false);
  EXPECT_EQ(out.to_float(), 1.0f + 0x1p-10f);
}

TEST(Reduce, MinAndMaxGiveNanFromEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax})
    for (size_t count : {1, 40}) {
      std::vector<float> numbers(count, 1), nans(count, nan), out(count);
      void* to[] = {out.data()};
      const void* first[] = {nans.data(), numbers.data(), numbers.data()};
      reduce_many(op, DType::kF32, to, first, count, 1, false);
      EXPECT_THAT(out, testing::Each(testing::IsNan()));
      const void* last[] = {numbers.data(), numbers.data(), nans.data()};
      reduce_many(op, DType::kF32, to, last, count, 1, false);
      EXPECT_THAT(out, testing::Each(testing::IsNan()));
    }
}

TEST(Reduce, BoolTakesAnyNonZeroByteAsTrue) {
  std::vector<uint8_t> two(100, 2), one(100, 1), out(100);
  const void* in[] = {two.data(), one.data()};
  void* to[] = {out.data()};
  reduce_many(ReduceOp::kBand, DType::kBool, to, in, 100, 1, false);
  EXPECT_THAT(out, testing::Each(1));
  reduce_many(ReduceOp::kSum, DType::kBool, to, in, 100, 1, false);
  EXPECT_THAT(out, testing::Each(1));
  reduce_many(ReduceOp::kBxor, DType::kBool, to, in, 100, 1, false);
  EXPECT_THAT(out, testing::Each(0));
}

TEST(Reduce, IntegerAvgDividesTowardsZero) {
  int32_t data[] = {7, -7, 2, -2};
  finish_avg(DType::kI32, data, 4, 4);
  EXPECT_THAT(data, testing::ElementsAre(1, -1, 0, 0));
}

TEST(CopyBytes, CopiesExactlyWhatItShould) {
  std::mt19937_64 random(1);
  std::vector<uint8_t> from(5000);
  for (auto& byte : from) byte = static_cast<uint8_t>(random());
  on_every_target([&] {
    for (bool streaming : {false, true})
      for (size_t offset : {0, 1, 17})
        for (size_t count : kCounts) {
          Guarded<uint8_t> to(offset, count);
          copy_bytes(to.data(), from.data() + 3, count, streaming);
          EXPECT_EQ(std::memcmp(to.data(), from.data() + 3, count), 0);
          EXPECT_TRUE(to.surroundings_intact());
        }
  });
}

}  // namespace
}  // namespace rondo
