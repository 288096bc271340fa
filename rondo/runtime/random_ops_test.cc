#include "rondo/graph/ops/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "rondo/graph/ops/basic.h"
#include "rondo/kernels/cpu/philox.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

std::vector<float> floats(const Tensor& t) {
  return {t.span<float>().begin(), t.span<float>().end()};
}

struct Moments {
  double mean = 0, deviation = 0, least = 1e30, most = -1e30;
};

template <class T>
Moments moments(const Tensor& t) {
  Moments m;
  double squares = 0;
  for (const T x : t.span<T>()) {
    m.mean += x;
    squares += static_cast<double>(x) * x;
    m.least = std::min<double>(m.least, x);
    m.most = std::max<double>(m.most, x);
  }
  m.mean /= static_cast<double>(t.count());
  m.deviation =
      std::sqrt(squares / static_cast<double>(t.count()) - m.mean * m.mean);
  return m;
}

// The vectors published with the generator's reference implementation.
TEST(Random, PhiloxIsPhilox) {
  EXPECT_THAT(
      philox::block({0, 0, 0, 0}, 0, 0),
      ElementsAreArray({0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const uint32_t ones = 0xffffffffu;
  EXPECT_THAT(
      philox::block({ones, ones, ones, ones}, ones, ones),
      ElementsAreArray({0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_THAT(
      philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                    0xa4093822, 0x299f31d0),
      ElementsAreArray({0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Random, SameSeedSameNumbersOnAnyNumberOfThreads) {
  auto numbers = [](int threads) {
    Graph g;
    std::vector<Value> all = {
        random_uniform(g, {100003}, -1, 1, {.seed = 7}),
        random_normal(g, {100003}, 0, 1, {.seed = 7}),
        truncated_normal(g, {100003}, 0, 1, {.seed = 7}),
        random_shuffle(random_normal(g, {3001, 2}, 0, 1, {.seed = 7}), 7)};
    Session session(g, {.intra_op_threads = threads});
    std::vector<std::vector<float>> out;
    for (int run = 0; run < 2; ++run) {
      const std::vector<Tensor> tensors = session.run(all, {}).value();
      for (const Tensor& t : tensors) out.push_back(floats(t));
    }
    return out;
  };
  const auto one = numbers(1);
  EXPECT_EQ(one, numbers(3));
  // Every run and every distribution gives others.
  EXPECT_EQ(std::set(one.begin(), one.end()).size(), one.size());
}

TEST(Random, RunsAreCountedByNodeWhateverIsFetchedWithIt) {
  Graph g;
  Value x = random_uniform(g, {4}, 0, 1, {.seed = 3});
  Value y = identity(x);
  std::vector<std::vector<float>> wanted;
  {
    Session session(g);
    for (int i = 0; i < 3; ++i)
      wanted.push_back(floats(session.run(x).value()));
  }
  Session session(g);
  EXPECT_EQ(floats(session.run(x).value()), wanted[0]);
  EXPECT_EQ(floats(session.run(y).value()), wanted[1]);
  EXPECT_EQ(floats(session.run(x).value()), wanted[2]);
}

TEST(Random, SeedsOfTheGraph) {
  auto numbers = [](int64_t graph_seed) {
    Graph g;
    g.set_seed(graph_seed);
    Value a = random_uniform(g, {8});
    Value b = random_uniform(g, {8});
    Session session(g);
    auto out = session.run({a, b}, {}).value();
    EXPECT_NE(floats(out[0]), floats(out[1]));
    return floats(out[0]);
  };
  EXPECT_EQ(numbers(5), numbers(5));
  EXPECT_NE(numbers(5), numbers(6));
  EXPECT_NE(numbers(0), numbers(0));
}

TEST(Random, Uniform) {
  Graph g;
  Session session(g);
  Value shape = placeholder(g, {.dtype = DType::kI32});
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Value x = random_uniform(shape, -2, 4, {.dtype = dtype, .seed = 1});
    Tensor t =
        session
            .run(x, {{shape, Tensor::of<int32_t>({2}, std::vector{500, 401})}})
            .value();
    const Moments m =
        dtype == DType::kF32 ? moments<float>(t) : moments<double>(t);
    EXPECT_NEAR(m.mean, 1, 0.02);
    EXPECT_NEAR(m.deviation, 6 / std::sqrt(12), 0.02);
    EXPECT_GE(m.least, -2);
    EXPECT_LT(m.most, 4);
  }
  Tensor half =
      session
          .run(random_uniform(g, {100000}, 0, 1, {.dtype = DType::kBF16}), {})
          .value();
  for (const BFloat16 x : half.span<BFloat16>()) ASSERT_LT(x.to_float(), 1);
  EXPECT_EQ(session.run(random_uniform(g, {0, 3})).value().count(), 0);
}

TEST(Random, Normal) {
  Graph g;
  Session session(g);
  auto check = [&](const Tensor& t, const Moments& m, double deviation) {
    EXPECT_NEAR(m.mean, 3, 0.02) << t.to_string();
    EXPECT_NEAR(m.deviation, deviation, 0.02);
  };
  const int64_t n = 200001;
  Tensor t = session.run(random_normal(g, {n}, 3, 2, {.seed = 2})).value();
  check(t, moments<float>(t), 2);
  EXPECT_GT(moments<float>(t).most, 3 + 2 * 3.8);
  // About 68.27 % within one deviation, and neighbours are independent.
  int64_t within = 0;
  double product = 0;
  const auto x = t.span<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    within += std::abs(x[i] - 3) < 2;
    if (i > 0) product += (x[i] - 3) * (x[i - 1] - 3) / 4;
  }
  EXPECT_NEAR(static_cast<double>(within) / n, 0.6827, 0.005);
  EXPECT_NEAR(product / n, 0, 0.01);
  t = session
          .run(random_normal(g, {n}, 3, 2, {.dtype = DType::kF64, .seed = 2}))
          .value();
  check(t, moments<double>(t), 2);
  // The deviation of what is left of a normal distribution.
  const double left = 0.8796256610342398;
  t = session.run(truncated_normal(g, {n}, 3, 2, {.seed = 2})).value();
  check(t, moments<float>(t), 2 * left);
  EXPECT_GE(moments<float>(t).least, -1);
  EXPECT_LE(moments<float>(t).most, 7);
  t = session
          .run(
              truncated_normal(g, {n}, 3, 2, {.dtype = DType::kF64, .seed = 2}))
          .value();
  check(t, moments<double>(t), 2 * left);
  EXPECT_GE(moments<double>(t).least, -1);
  EXPECT_LE(moments<double>(t).most, 7);
}

TEST(Random, Integers) {
  Graph g;
  Session session(g);
  Value shape = constant_ints(g, {60000});
  Value x = random_uniform_int(shape, constant(g, -2, DType::kI32),
                               constant(g, 4, DType::kI32), {.seed = 4});
  std::array<int, 6> counts{};
  const Tensor drawn = session.run(x).value();
  for (const int32_t i : drawn.span<int32_t>()) {
    ASSERT_TRUE(i >= -2 && i < 4) << i;
    ++counts[static_cast<size_t>(i + 2)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  auto none = session.run(random_uniform_int(shape, constant(g, 3, DType::kI64),
                                             constant(g, 3, DType::kI64)));
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("minval is 3 and maxval 3"));
}

TEST(Random, ShuffleKeepsRowsWhole) {
  Graph g;
  Session session(g);
  Tensor in = Tensor::empty({1000, 2}, DType::kI32);
  for (int i = 0; i < 2000; ++i)
    in.span<int32_t>()[static_cast<size_t>(i)] = i / 2;
  Value x = constant(g, in);
  const Tensor out = session.run(random_shuffle(x, 1)).value();
  std::vector<int32_t> seen;
  int moved = 0;
  for (size_t i = 0; i < 1000; ++i) {
    const auto row = out.span<int32_t>().subspan(2 * i, 2);
    EXPECT_EQ(row[0], row[1]);
    seen.push_back(row[0]);
    moved += row[0] != static_cast<int>(i);
  }
  EXPECT_GT(moved, 950);
  std::sort(seen.begin(), seen.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST(Random, Multinomial) {
  Graph g;
  Session session(g);
  const float none = -INFINITY;
  Value logits = constant(
      g, Tensor::of<float>(
             {2, 3}, std::vector<float>{none, std::log(1.0f), std::log(3.0f), 9,
                                        none, none}));
  Value x = multinomial(logits, 20000, 6);
  EXPECT_EQ(x.shape(), PartialShape({2, 20000}));
  const Tensor out = session.run(x).value();
  int twos = 0;
  for (size_t i = 0; i < 20000; ++i) {
    const int64_t first = out.span<int64_t>()[i];
    ASSERT_TRUE(first == 1 || first == 2);
    twos += first == 2;
    ASSERT_EQ(out.span<int64_t>()[20000 + i], 0);
  }
  EXPECT_NEAR(twos, 15000, 300);
  Value nan = constant(g, Tensor::full({1, 2}, NAN));
  EXPECT_THAT(session.run(multinomial(nan, 1)).status().message(),
              HasSubstr("row 0 of the logits has a NaN"));
  EXPECT_THROW(multinomial(constant(g, Tensor::zeros({3})), 1), Error);
}

TEST(Random, SaysWhatIsWrong) {
  Graph g;
  EXPECT_THROW(random_uniform(g, {2}, 1, 0), Error);
  EXPECT_THROW(random_uniform(g, {2}, 0, 1, {.dtype = DType::kI32}), Error);
  EXPECT_THROW(random_uniform(constant_ints(g, {-2})), Error);
  Value shape = placeholder(g, {.dtype = DType::kI64});
  Session session(g);
  auto bad = session.run(
      random_normal(shape),
      {{shape, Tensor::of<int64_t>({1}, std::vector<int64_t>{-3})}});
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.status().message(),
              HasSubstr("an extent of the shape is -3"));
}

}  // namespace
}  // namespace rondo
