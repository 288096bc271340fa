#include "rondo/graph/ops/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/runtime/gradient_coverage.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor random_tensor(const Shape& shape) {
  static std::mt19937 generator(3);
  std::uniform_real_distribution<double> any(-1, 1);
  Tensor t = Tensor::empty(shape, DType::kF64);
  for (double& x : t.span<double>()) x = any(generator);
  return t;
}

Tensor ints(const Shape& shape, const Ints& values) {
  return Tensor::of<int64_t>(shape, std::span<const int64_t>(values));
}

Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, std::span<const float>(values));
}

// Checks a function of tensors of these shapes three times: with the shapes
// known while building, with the ranks alone, and with nothing known.
template <class F>
void check(const std::vector<Shape>& shapes, const F& f) {
  for (int known = 0; known < 3; ++known) {
    Graph g;
    std::vector<Value> xs;
    std::vector<Feed> at;
    for (const Shape& shape : shapes) {
      PartialShape partial(shape);
      if (known == 1) partial = PartialShape::of_rank(shape.rank());
      if (known == 2) partial = {};
      xs.push_back(placeholder(g, {.dtype = DType::kF64, .shape = partial}));
      at.push_back({xs.back(), random_tensor(shape)});
    }
    const Value y = f(xs);
    const GradientCheck once = check_and_record(y, at);
    EXPECT_LT(once.worst, 1e-6) << once.where << ", known " << known;
    // The gradient's own gradient, by what flows back into y.
    Value weights = placeholder(g, {.dtype = DType::kF64, .shape = y.shape()});
    Session session(g);
    at.push_back({weights, random_tensor(session.run(y, at)->shape())});
    const Value ys[] = {y};
    const Value by[] = {weights};
    for (const Gradient& first : gradients(ys, xs, by)) {
      if (!first) continue;
      const GradientCheck twice = check_and_record(to_dense(first), at);
      EXPECT_LT(twice.worst, 1e-6) << twice.where << ", known " << known;
    }
  }
}

TEST(ArrayGradients, Concat) {
  for (const int64_t axis : {0, 1, -1})
    check({{2, 3}, {2, 3}, {2, 3}}, [&](auto& x) {
      return concat({x[0], x[1], x[2]}, axis);
    });
  check({{2, 0, 2}, {2, 3, 2}, {2, 1, 2}}, [](auto& x) {
    return concat({x[0], x[1], x[2]}, 1);
  });
  check({{4}}, [](auto& x) { return concat({x[0]}, 0); });
}

TEST(ArrayGradients, Split) {
  check({{4, 6}}, [](auto& x) { return split(x[0], 3, 1)[1]; });
  check({{4, 6}}, [](auto& x) { return split(x[0], 2)[0]; });
  check({{4, 6}}, [](auto& x) {
    const auto parts = split(x[0], Ints{1, -1, 2}, -1);
    return concat({parts[2], parts[0], parts[1]}, 1);
  });
}

TEST(ArrayGradients, StackAndUnstack) {
  for (const int64_t axis : {0, 1, -1})
    check({{2, 3}, {2, 3}}, [&](auto& x) { return stack({x[0], x[1]}, axis); });
  check({{}, {}}, [](auto& x) { return stack({x[0], x[1]}); });
  check({{2, 3, 2}}, [](auto& x) { return unstack(x[0], 1, 3)[2]; });
  check({{2, 3}}, [](auto& x) {
    const auto parts = unstack(x[0], 0, 2);
    return stack({parts[1], parts[0]}, -1);
  });
}

TEST(ArrayGradients, Shaping) {
  check({{2, 3}}, [](auto& x) { return transpose(x[0]); });
  check({{2, 3, 4}}, [](auto& x) { return transpose(x[0], {2, 0, 1}); });
  check({{2, 3}}, [](auto& x) { return expand_dims(x[0], -1); });
  check({{2, 1, 3}}, [](auto& x) { return squeeze(x[0], {1}); });
  check({{2, 1, 3, 1}}, [](auto& x) { return squeeze(x[0]); });
  check({{2, 3}}, [](auto& x) { return tile(x[0], {2, 3}); });
  check({{2, 3}}, [](auto& x) { return tile(x[0], {1, 2}); });
  check({{2, 3, 2}}, [](auto& x) { return reverse(x[0], {0, -1}); });
}

TEST(ArrayGradients, Pad) {
  check({{2, 3}}, [](auto& x) {
    return pad(x[0], {{1, 2}, {0, 1}}, {.value = 3});
  });
  for (const char* mode : {"REFLECT", "SYMMETRIC"})
    check({{4, 3}}, [&](auto& x) {
      return pad(x[0], {{3, 1}, {2, 2}}, {.mode = mode});
    });
}

TEST(ArrayGradients, BroadcastTo) {
  check({{3, 1}}, [](auto& x) { return broadcast_to(x[0], {2, 3, 4}); });
  check({{}}, [](auto& x) { return broadcast_to(x[0], {2, 2}); });
}

TEST(ArrayGradients, Slices) {
  check({{4, 5}}, [](auto& x) { return slice(x[0], {1, 2}, {2, -1}); });
  check({{4, 5}}, [](auto& x) { return slice(x[0], {0, 0}, {4, 5}); });
  check({{4, 5}}, [](auto& x) { return slice(x[0], {1, 1}, {0, 2}); });
  check({{5, 6}}, [](auto& x) {
    return strided_slice(x[0], {-1, 1}, {0, 6}, {-2, 3});
  });
  check({{5, 2, 3}}, [](auto& x) {
    return strided_slice(x[0], {1, 0, 0, 2}, {3, 0, 0, 0}, {1, 1, 1, 1},
                         {.ellipsis = 2, .new_axis = 4, .shrink_axis = 8});
  });
  check({{4, 3}}, [](auto& x) { return element(x[0], -2); });
  check({{4, 3}}, [](auto& x) { return rows(x[0], 1); });
}

TEST(ArrayGradients, Gathers) {
  for (const int64_t axis : {0, 1, -1})
    check({{4, 3, 4}}, [&](auto& x) {
      return gather(x[0], constant(x[0].graph(), ints({2, 2}, {2, 0, 2, 1})),
                    axis);
    });
  check({{4, 3}}, [](auto& x) {
    return embedding_lookup(x[0], constant_ints(x[0].graph(), {3, 3, 0, 3}));
  });
  check({{4, 3}}, [](auto& x) {
    const Value ids = constant(x[0].graph(), ints({2, 2}, {3, 3, 0, 3}));
    return concat({embedding_lookup(x[0], ids), gather(x[0], ids)}, 0);
  });
  check({{3, 4, 2}}, [](auto& x) {
    return gather_nd(x[0],
                     constant(x[0].graph(), ints({3, 2}, {2, 1, 0, 3, 2, 1})));
  });
  check({{3, 2}}, [](auto& x) {
    Graph& g = x[0].graph();
    return scatter_nd(constant(g, ints({3, 1}, {4, 1, 4})), x[0],
                      constant_ints(g, {5, 2}));
  });
  check({{3, 2}}, [](auto& x) {
    return boolean_mask(
        x[0], constant(x[0].graph(),
                       Tensor::of<bool>(
                           {3, 2}, std::array<bool, 6>{true, false, true, true,
                                                       false, true})));
  });
  for (const int64_t axis : {0, 1})
    check({{3, 2}}, [&](auto& x) {
      return take_along_axis(
          x[0], constant(x[0].graph(), ints({3, 2}, {1, 0, 1, 1, 0, 0})), axis);
    });
}

TEST(ArrayGradients, TopKAndCumSum) {
  for (const bool sorted : {true, false})
    check({{3, 5}}, [&](auto& x) { return top_k(x[0], 2, sorted).values; });
  for (const bool exclusive : {true, false})
    for (const bool reverse : {true, false})
      check({{2, 4, 3}}, [&](auto& x) {
        return cumsum(x[0], {1, exclusive, reverse});
      });
}

TEST(ArrayGradients, OfARowThatIsLookedUpAreSparse) {
  Graph g;
  Value params = placeholder(g, {.dtype = DType::kF64, .shape = {kAny, 3}});
  Value ids = placeholder(g, {.dtype = DType::kI32, .shape = {2, 2}});
  const Value ys[] = {embedding_lookup(params, ids)};
  const Value xs[] = {params};
  const Gradient gradient = gradients(ys, xs)[0];
  ASSERT_TRUE(gradient.sparse());
  EXPECT_EQ(gradient.values.shape(), PartialShape({4, 3}));
  EXPECT_EQ(gradient.indices.shape(), PartialShape({4}));
}

// The error of running y with these feeds.
std::string failure(Value y, const std::vector<Feed>& feeds = {}) {
  Session session(y.graph());
  const auto result = session.run(y, feeds);
  return result.ok() ? "" : result.status().message();
}

TEST(ArrayOps, WrongIndicesAreNamed) {
  Graph g;
  Value x = constant(g, Tensor::zeros({4, 3}));
  Value ids = placeholder(g, {.dtype = DType::kI32});
  const Tensor bad =
      Tensor::of<int32_t>({2, 2}, std::array<int32_t, 4>{0, 1, 4, 2});
  EXPECT_THAT(failure(gather(x, ids), {{ids, bad}}),
              HasSubstr("indices[1, 0] is 4, out of range for axis 0 of [4, 3] "
                        "of extent 4"));
  EXPECT_THAT(failure(gather_nd(x, ids), {{ids, bad}}),
              HasSubstr("indices[1, 0] is 4, out of range for axis 0 of [4, 3] "
                        "of extent 4"));
  EXPECT_THAT(failure(embedding_lookup(x, constant_ints(g, {0, -1}))),
              HasSubstr("indices[1] is -1, out of range for axis 0"));
  EXPECT_THAT(failure(dense_rows(x, constant_ints(g, {0, 1, 2, 9}),
                                 constant_ints(g, {5, 3}))),
              HasSubstr("indices[3] is 9, out of range for axis 0 of [5, 3] of "
                        "extent 5"));
  EXPECT_THAT(failure(scatter_nd(constant(g, ints({1, 2}, {1, 3})),
                                 constant(g, Tensor::zeros({1})),
                                 constant_ints(g, {2, 3}))),
              HasSubstr("indices[0, 1] is 3, out of range for axis 1"));
  EXPECT_THAT(failure(invert_permutation(constant_ints(g, {0, 2, 2}))),
              HasSubstr("x[2] is 2, which is there before"));
}

TEST(ArrayOps, WhatCannotBeKnownWhileBuildingIsCheckedInTheRun) {
  Graph g;
  Value x = placeholder(g);
  Value z = placeholder(g);
  Value n = placeholder(g, {.dtype = DType::kI64});
  const std::vector<Feed> feeds = {{x, Tensor::zeros({4, 3})},
                                   {z, Tensor::zeros({4, 2})},
                                   {n, ints({2}, {2, -3})}};
  EXPECT_THAT(failure(concat({x, z}, 0), feeds), HasSubstr("more than axis 0"));
  EXPECT_THAT(failure(concat({x, z}, 2), feeds), HasSubstr("axis 2"));
  EXPECT_THAT(failure(stack({x, z}), feeds), HasSubstr("input 1 has shape"));
  EXPECT_THAT(failure(split(x, 3)[0], feeds), HasSubstr("3 parts"));
  EXPECT_THAT(failure(split(x, Ints{1, 1})[0], feeds),
              HasSubstr("add up to 2"));
  EXPECT_THAT(failure(unstack(x, 0, 3)[0], feeds), HasSubstr("num is 3"));
  EXPECT_THAT(failure(transpose(x, {0, 2, 1}), feeds), HasSubstr("perm is"));
  EXPECT_THAT(failure(squeeze(x, {0}), feeds), HasSubstr("extent 4"));
  EXPECT_THAT(failure(slice(x, {1, 1}, {3, 3}), feeds),
              HasSubstr("begin[1] is 1 and size[1] is 3"));
  EXPECT_THAT(failure(element(x, 4), feeds),
              HasSubstr("begin[0] is 4, out of range for axis 0 of extent 4"));
  EXPECT_THAT(failure(tile(x, n), feeds), HasSubstr("multiples[1] is -3"));
  EXPECT_THAT(failure(broadcast_to(x, n), feeds), HasSubstr("is -3"));
  EXPECT_THAT(failure(pad(x, n), feeds), HasSubstr("paddings has shape [2]"));
  EXPECT_THAT(failure(pad(x, {{0, 0}, {3, 0}}, {.mode = "REFLECT"}), feeds),
              HasSubstr("at most 2"));
  EXPECT_THAT(failure(top_k(x, 4).values, feeds), HasSubstr("k is 4"));
  EXPECT_THAT(failure(range(n, n, n), feeds), HasSubstr("expected a scalar"));
}

TEST(ArrayOps, SizesThatNothingCanHaveAreRefused) {
  Graph g;
  Value x = placeholder(g, {.shape = {4}});
  Value n = placeholder(g, {.dtype = DType::kI64, .shape = {1}});
  Value by = placeholder(g, {.dtype = DType::kI64, .shape = {1, 2}});
  const auto feeds = [&](int64_t wanted) {
    return std::vector<Feed>{{x, Tensor::zeros({4})}, {n, ints({1}, {wanted})}};
  };
  // Their bytes, or their extents, are small numbers again in 64 bits.
  const int64_t wraps = (int64_t{1} << 61) + 1;
  const Value doubles = fill(n, constant(g, 1, DType::kF64));
  for (const int64_t wanted : {wraps, wraps - 2, int64_t{1} << 55})
    EXPECT_THAT(failure(doubles, feeds(wanted)), HasSubstr("no memory for"));
  EXPECT_THAT(failure(tile(x, n), feeds((int64_t{1} << 62) + 1)),
              HasSubstr("longer than 64 bits"));
  EXPECT_THAT(failure(pad(x, by), {{x, Tensor::zeros({4})},
                                   {by, ints({1, 2}, {INT64_MAX, INT64_MAX})}}),
              HasSubstr("longer than 64 bits"));
  EXPECT_THROW(tile(x, {(int64_t{1} << 62) + 1}), Error);
  EXPECT_THROW(pad(x, {{INT64_MAX, INT64_MAX}}), Error);
}

TEST(ArrayOps, MistakesAreFoundWhileBuilding) {
  Graph g;
  Value x = placeholder(g, {.shape = {4, 3}});
  const auto message = [](auto&& build) -> std::string {
    try {
      build();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message([&] {
                concat({x, transpose(x)}, 0);
              }),
              HasSubstr("input 1 has shape [3, 4]"));
  EXPECT_THAT(message([&] { concat({}, 0); }), HasSubstr("Concat"));
  EXPECT_THAT(message([&] { concat({x, x}, 2); }), HasSubstr("axis 2"));
  EXPECT_THAT(message([&] { split(x, 3); }), HasSubstr("extent 4"));
  EXPECT_THAT(message([&] { split(x, Ints{2, 3}); }), HasSubstr("add up to 5"));
  EXPECT_THAT(message([&] {
                slice(x, {0, 1}, {1, 3});
              }),
              HasSubstr("size[1] is 3, out of range for axis 1 of extent 3"));
  EXPECT_THAT(message([&] { strided_slice(x, {0}, {1}, {0}); }),
              HasSubstr("strides[0] is 0"));
  EXPECT_THAT(message([&] {
                strided_slice(x, {0, 0, 0}, {1, 1, 1});
              }),
              HasSubstr("3 indices are too many for a tensor of rank 2"));
  EXPECT_THAT(message([&] { transpose(x, {0, 0}); }), HasSubstr("once"));
  EXPECT_THAT(message([&] {
                broadcast_to(x, {4, 4});
              }),
              HasSubstr("[4, 3] cannot be broadcast to [4, 4]"));
  EXPECT_THAT(message([&] { tile(x, {2}); }), HasSubstr("rank 2"));
  EXPECT_THAT(message([&] { pad(x, {{1, 1}}); }), HasSubstr("rank 2"));
  EXPECT_THAT(message([&] { top_k(x, 4); }), HasSubstr("extent 3"));
  EXPECT_THAT(message([&] { gather(x, x); }), HasSubstr("i32 or i64"));
  EXPECT_THAT(message([&] { argmax(x, 5); }), HasSubstr("axis 5"));
}

TEST(ArrayOps, ShapesAreInferredAsFarAsKnown) {
  Graph g;
  Value x = placeholder(g, {.shape = {kAny, 3}});
  Value n = placeholder(g, {.dtype = DType::kI64, .shape = {2}});
  EXPECT_EQ(concat({x, x}, 0).shape(), PartialShape({kAny, 3}));
  EXPECT_EQ(concat({x, x}, 1).shape(), PartialShape({kAny, 6}));
  EXPECT_EQ(split(x, 3, 1)[0].shape(), PartialShape({kAny, 1}));
  EXPECT_EQ(stack({x, x}, -1).shape(), PartialShape({kAny, 3, 2}));
  EXPECT_EQ(slice(x, {0, 1}, {-1, -1}).shape(), PartialShape({kAny, 2}));
  EXPECT_EQ(slice(x, n, n).shape(), PartialShape({kAny, kAny}));
  EXPECT_EQ(element(x, 1).shape(), PartialShape({3}));
  EXPECT_EQ(strided_slice(x, n, n, n, {.shrink_axis = 1}).shape(),
            PartialShape({kAny}));
  EXPECT_EQ(tile(x, {1, 2}).shape(), PartialShape({kAny, 6}));
  EXPECT_EQ(gather(x, n).shape(), PartialShape({2, 3}));
  EXPECT_EQ(broadcast_to(x, shape_of(x)).shape(), PartialShape({kAny, 3}));
  EXPECT_EQ(range(g, 1, 8, 3).shape(), PartialShape({3}));
  EXPECT_EQ(one_hot(n, 5).shape(), PartialShape({2, 5}));
  Value mask = placeholder(g, {.dtype = DType::kBool, .shape = {kAny}});
  EXPECT_EQ(boolean_mask(x, mask).shape(), PartialShape({kAny, 3}));
}

TEST(ArrayOps, BooleanMaskTakesWhatIsTrue) {
  Graph g;
  Value x = placeholder(g, {.shape = {kAny, 2}});
  Value mask = placeholder(g, {.dtype = DType::kBool, .shape = {kAny}});
  Session session(g);
  const std::array<bool, 3> bits = {true, false, true};
  const Tensor out =
      session
          .run(boolean_mask(x, mask),
               {{x, floats({3, 2}, {1, 2, 3, 4, 5, 6})},
                {mask, Tensor::of<bool>({3}, std::span<const bool>(bits))}})
          .value();
  EXPECT_THAT(out.span<float>(), ElementsAre(1, 2, 5, 6));
  // A mask that is too short.
  EXPECT_THAT(failure(boolean_mask(x, mask),
                      {{x, floats({3, 2}, {1, 2, 3, 4, 5, 6})},
                       {mask, Tensor::of<bool>(
                                  {2}, std::span<const bool>(bits).first(2))}}),
              HasSubstr("cannot be reshaped"));
}

TEST(ArrayOps, LargeTensorsOnSeveralThreads) {
  Graph g;
  const int64_t n = 517, m = 389;
  Tensor in = Tensor::empty({n, m});
  for (size_t i = 0; i < in.span<float>().size(); ++i)
    in.span<float>()[i] = static_cast<float>(i);
  Value x = placeholder(g);
  Session session(g, {.intra_op_threads = 3});
  const auto results =
      session
          .run({transpose(x), concat({x, x}, 0), concat({x, x}, 1),
                reverse(x, {0}), gather(x, range(g, 516, -1, -1))},
               {{x, in}})
          .value();
  const auto at = [&](int64_t i, int64_t j) {
    return static_cast<float>(i * m + j);
  };
  const auto element_of = [&](int k, int64_t i) {
    return results[static_cast<size_t>(k)]
        .span<float>()[static_cast<size_t>(i)];
  };
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      wrong += element_of(0, j * n + i) != at(i, j);
      wrong += element_of(1, (i + n) * m + j) != at(i, j);
      wrong += element_of(2, i * 2 * m + m + j) != at(i, j);
      wrong += element_of(3, (n - 1 - i) * m + j) != at(i, j);
      wrong += element_of(4, (n - 1 - i) * m + j) != at(i, j);
    }
  EXPECT_EQ(wrong, 0);
}

TEST(ArrayOps, Of16BitElements) {
  Graph g;
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Value x = cast(constant(g, floats({2, 3}, {3, 1, 2, 4, 6, 5})), dtype);
    Value ones_x = ones_like(x);
    Session session(g);
    const auto floats_of = [&](Value y) {
      EXPECT_EQ(y.dtype(), dtype);
      const Tensor t = session.run(cast(y, DType::kF32)).value();
      return std::vector<float>(t.span<float>().begin(), t.span<float>().end());
    };
    EXPECT_THAT(floats_of(transpose(x)), ElementsAre(3, 4, 1, 6, 2, 5));
    EXPECT_THAT(floats_of(cumsum(x, {.axis = 1})),
                ElementsAre(3, 4, 6, 4, 10, 15));
    EXPECT_THAT(floats_of(top_k(x, 2).values), ElementsAre(3, 2, 6, 5));
    EXPECT_THAT(floats_of(pad(x, {{0, 0}, {0, 1}}, {.value = 7})),
                ElementsAre(3, 1, 2, 7, 4, 6, 5, 7));
    EXPECT_THAT(floats_of(gather(x, constant_ints(g, {1}))),
                ElementsAre(4, 6, 5));
    // As a bf16, 256 + 1 is 256.
    EXPECT_THAT(floats_of(dense_rows(tile(ones_x, {150, 1}),
                                     constant_ints(g, Ints(300, 0)),
                                     constant_ints(g, {1, 3}))),
                ElementsAre(300, 300, 300));
    EXPECT_THAT(session.run(argmax(x, 1)).value().span<int64_t>(),
                ElementsAre(0, 1));
    EXPECT_THAT(floats_of(range(constant(g, 1, dtype), constant(g, 3, dtype),
                                constant(g, 0.5, dtype))),
                ElementsAre(1, 1.5, 2, 2.5));
  }
}

TEST(ArrayOps, RowsAddUpInTheSameOrderOnAnyNumberOfThreads) {
  Graph g;
  const Tensor rows_in = random_tensor({4000, 32});
  Ints where_to;
  for (int64_t i = 0; i < 4000; ++i) where_to.push_back(i * i % 97);
  Value rows_at = placeholder(g, {.dtype = DType::kF64});
  Value y = dense_rows(rows_at, constant_ints(g, where_to),
                       constant_ints(g, {97, 32}));
  Session one(g, {.intra_op_threads = 1});
  Session four(g, {.intra_op_threads = 4});
  const Tensor a = one.run(y, {{rows_at, rows_in}}).value();
  const Tensor b = four.run(y, {{rows_at, rows_in}}).value();
  EXPECT_TRUE(std::ranges::equal(a.span<double>(), b.span<double>()));
}

}  // namespace
}  // namespace rondo
