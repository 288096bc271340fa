#include "rondo/graph/passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"

namespace rondo {
namespace {

using testing::ElementsAre;

// The step for y, as "name = op(inputs)" in order.
std::vector<std::string> lines(const Subgraph& part) {
  std::vector<std::string> all;
  for (const Node* node : ordered_nodes(part)) {
    std::string line = fmt::format("{} = {}(", node->name(), node->op().name);
    for (size_t i = 0; i < node->inputs().size(); ++i)
      line += fmt::format("{}{}", i > 0 ? ", " : "", node->inputs()[i].name());
    all.push_back(line + ")");
  }
  return all;
}

Subgraph step_for(Graph& g, Value x, std::vector<Value> ys) {
  const Value feeds[] = {x};
  return extract(g, feeds, ys, {});
}

// As if every operation doubled its first input.
Result<std::vector<Tensor>> twice(const Node&, std::span<const Tensor> in) {
  Tensor out = in[0].clone();
  for (float& v : out.span<float>()) v *= 2;
  return std::vector<Tensor>{out};
}

TEST(Simplify, LeavesOutWhatChangesNothing) {
  Graph g;
  Value x = placeholder(g, {.shape = {2, 3}, .name = "x"});
  Value a = identity(x, "a");
  Value b = reshape(a, {2, 3});
  Value c = reshape(reshape(b, {6}), {3, 2});
  Subgraph part = step_for(g, x, {c});
  simplify(part);
  EXPECT_THAT(lines(part), ElementsAre("Const_2 = Const()",
                                       "feed/x = "
                                       "Placeholder()",
                                       "Reshape_2 = Reshape(feed/x, Const_2)"));
}

TEST(Simplify, KeepsWhatWaits) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}, .name = "x"});
  Value first = reshape(x, {1, 2});
  Value y;
  {
    const ControlScope after(g, {first.node});
    y = identity(x, "y");
  }
  Subgraph part = step_for(g, x, {y});
  simplify(part);
  EXPECT_EQ(part.fetches[0].node->name(), "y");
}

TEST(FoldConstants, ComputesOnceWhatNeverChanges) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}, .name = "x"});
  Value two = zeros_like(constant(g, 1, DType::kF32));
  Value four = zeros_like(two);
  Subgraph part = step_for(g, x, {four, identity(x, "y")});
  fold_constants(part, twice);
  const Node& folded = *part.fetches[0].node;
  EXPECT_EQ(folded.op().name, "Const");
  EXPECT_EQ(folded.attrs().get<Tensor>("value").span<float>()[0], 4);
}

TEST(FoldConstants, ShapesThatAreKnown) {
  Graph g;
  Value x = placeholder(g, {.shape = {2, 5}, .name = "x"});
  Value shape = make("Shape", {x});
  Subgraph part = step_for(g, x, {shape});
  fold_constants(part, twice);
  EXPECT_THAT(
      part.fetches[0].node->attrs().get<Tensor>("value").span<int64_t>(),
      ElementsAre(2, 5));
}

TEST(FoldConstants, LeavesAloneWhatFailsOrIsLarge) {
  Graph g;
  Value x = placeholder(g, {.shape = {2}, .name = "x"});
  Value big = fill(g, {1 << 20}, 1);
  Value bad = zeros_like(constant(g, 1, DType::kF32));
  Subgraph part = step_for(g, x, {big, bad});
  fold_constants(part, [](const Node&, std::span<const Tensor>) {
    return error(Code::kInvalidArgument, "no");
  });
  EXPECT_EQ(part.fetches[0].node->op().name, "Fill");
  EXPECT_EQ(part.fetches[1].node->op().name, "ZerosLike");
}

TEST(ShareCommon, ComputesTheSameOnce) {
  Graph g;
  Value x = placeholder(g, {.shape = {2, 3}, .name = "x"});
  Value a = reshape(x, {6});
  Value b = reshape(x, {6});
  Value c = reshape(x, {3, 2});
  Subgraph part = step_for(g, x, {a, b, c, zeros_like(a), zeros_like(b)});
  share_common(part);
  EXPECT_EQ(part.fetches[0], part.fetches[1]);
  EXPECT_EQ(part.fetches[3], part.fetches[4]);
  EXPECT_NE(part.fetches[0], part.fetches[2]);
}

TEST(ShareCommon, KeepsStateApart) {
  Graph g;
  Value x = placeholder(g, {.name = "x"});
  Value y = placeholder(g, {.name = "y"});
  const Value feeds[] = {x, y};
  const Value fetches[] = {identity(x), identity(y)};
  Subgraph part = extract(g, feeds, fetches, {});
  share_common(part);
  EXPECT_NE(part.fetches[0], part.fetches[1]);
}

}  // namespace
}  // namespace rondo
