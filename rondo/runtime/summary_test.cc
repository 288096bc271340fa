#include "rondo/graph/ops/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "rondo/graph/ops/basic.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::HasSubstr;
using testing::Not;

// What TensorBoard makes of the bytes is tested from Python, with its reader.
std::string run(Value summary, const std::vector<Feed>& feeds = {}) {
  Session session(summary.graph());
  const Tensor bytes = session.run(summary, feeds).value();
  return {static_cast<const char*>(bytes.data()), bytes.bytes()};
}

std::string failure(Value summary, const std::vector<Feed>& feeds = {}) {
  Session session(summary.graph());
  return session.run(summary, feeds).status().message();
}

template <class F>
std::string thrown(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Summary, AScalarIsItsTagAndAFloat) {
  Graph g;
  const NameScope scope(g, "train");
  Value s = scalar_summary("loss", constant(g, 1, DType::kF64));
  // Field 1 (the value), with field 1 (the tag) and field 2 (a float).
  EXPECT_EQ(run(s), std::string("\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3f", 13));
  EXPECT_EQ(g.collection(kSummaries), std::vector<Value>{s});
  EXPECT_EQ(s.name(), "train/loss");
}

TEST(Summary, OfTheSameValueUnderTwoTags) {
  Graph g;
  Value x = placeholder(g, {.shape = {}});
  Value both = merge_summary({scalar_summary("a", x), scalar_summary("b", x)});
  EXPECT_THAT(run(both, {{x, Tensor::zeros({})}}),
              testing::AllOf(HasSubstr("\x01"
                                       "a"),
                             HasSubstr("\x01"
                                       "b")));
}

TEST(Summary, MergedIsOneBehindTheOther) {
  Graph g;
  Value a = scalar_summary("a", constant(g, 1, DType::kF32));
  Value b = text_summary("b", text_constant(g, "hello"));
  EXPECT_EQ(run(merge_all_summaries(g)), run(a) + run(b));
  Value twice = merge_summary({a, b, a});
  EXPECT_THAT(failure(twice),
              HasSubstr("two of the summaries have the tag \"a\""));
  Value x = placeholder(g, {.dtype = DType::kU8, .shape = {kAny}});
  EXPECT_THAT(
      failure(merge_summary({a, x}), {{x, Tensor::full<uint8_t>({3}, 255)}}),
      HasSubstr("input 1 is not a summary"));
}

TEST(Summary, NoneToMerge) {
  Graph g;
  EXPECT_THAT(thrown([&] { merge_all_summaries(g); }),
              HasSubstr("the graph has no summaries"));
}

TEST(Summary, AHistogramRefusesWhatIsNotFinite) {
  Graph g;
  Value x = placeholder(g, {.shape = {kAny}});
  Value s = histogram_summary("weights", x);
  EXPECT_THAT(run(s, {{x, Tensor::zeros({0})}}), HasSubstr("weights"));
  Tensor bad = Tensor::zeros({3});
  bad.span<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(
      failure(s, {{x, bad}}),
      testing::AllOf(HasSubstr("HistogramSummary \"weights\""),
                     HasSubstr("element 1"), HasSubstr("is not finite")));
}

TEST(Summary, ImagesUpToTheMostThatAreWanted) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kU8, .shape = {kAny, 2, 2, 1}});
  Value two = image_summary("two", x, {.max_outputs = 2});
  Value one = image_summary("one", x, {.max_outputs = 1});
  const Feed feed = {x, Tensor::zeros({3, 2, 2, 1}, DType::kU8)};
  EXPECT_THAT(run(two, {feed}),
              testing::AllOf(HasSubstr("two/image/0"), HasSubstr("two/image/1"),
                             Not(HasSubstr("two/image/2"))));
  EXPECT_THAT(run(one, {feed}), testing::AllOf(HasSubstr("one/image"),
                                               Not(HasSubstr("one/image/"))));
}

TEST(Summary, WrongInputs) {
  Graph g;
  Value v = placeholder(g, {.shape = {3}});
  EXPECT_THAT(thrown([&] { scalar_summary("x", v); }),
              HasSubstr("value has rank 1, expected 0"));
  EXPECT_THAT(thrown([&] { image_summary("x", v); }),
              HasSubstr("images has rank 1, expected 4"));
  Value two = placeholder(g, {.shape = {1, 2, 2, 2}});
  EXPECT_THAT(thrown([&] { image_summary("x", two); }),
              HasSubstr("2 channels, expected 1, 3 or 4"));
  Value ints = placeholder(g, {.dtype = DType::kI32, .shape = {1, 2, 2, 3}});
  EXPECT_THAT(thrown([&] { image_summary("x", ints); }),
              HasSubstr("expected u8 or a floating-point type"));
  Value good = placeholder(g, {.shape = {1, 2, 2, 3}});
  EXPECT_THAT(thrown([&] { image_summary("x", good, {.max_outputs = 0}); }),
              HasSubstr("max_outputs is 0"));
  EXPECT_THAT(thrown([&] { image_summary("x", good, {.bad_color = {256}}); }),
              HasSubstr("bad_color has 256"));
  EXPECT_THAT(thrown([&] { make("ScalarSummary", {v}); }),
              HasSubstr("attribute \"tag\" is missing"));
  EXPECT_THAT(thrown([&] { text_summary("x", v); }),
              HasSubstr("text 0 has type f32, expected u8"));
  EXPECT_THAT(thrown([&] { merge_summary({v}); }),
              HasSubstr("summary 0 has type f32, expected u8"));
  Value text = text_constant(g, "a");
  EXPECT_THAT(thrown([&] {
                make("TextSummary", {text, text},
                     {{"tag", std::string("x")}, {"shape", Ints{3}}});
              }),
              HasSubstr("2 texts cannot have the shape [3]"));
}

TEST(Summary, ShapesThatAreOnlyKnownInTheRun) {
  Graph g;
  Value x = placeholder(g, {});
  Value scalar = scalar_summary("s", x);
  EXPECT_THAT(failure(scalar, {{x, Tensor::zeros({2})}}),
              HasSubstr("value has shape [2], expected a scalar"));
  Value image = image_summary("i", x);
  EXPECT_THAT(failure(image, {{x, Tensor::zeros({2})}}),
              HasSubstr("images have shape [2]"));
  EXPECT_THAT(failure(image, {{x, Tensor::zeros({1, 2, 2, 5})}}),
              HasSubstr("5 channels"));
  EXPECT_THAT(failure(image, {{x, Tensor::zeros({1, 0, 2, 1})}}),
              HasSubstr("0 x 2 pixels"));
}

}  // namespace
}  // namespace rondo
