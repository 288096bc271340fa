#include "rondo/graph/subgraph_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"

namespace rondo {
namespace {

TEST(ExtendGraph, AddsWhatIsNotThereYet) {
  Graph whole, copy;
  const Value x = placeholder(whole, {.name = "x"});
  const Value y = make("Neg", {x}, {}, "y");
  const std::string both = to_graph_def_from(whole, 0);
  extend_graph(copy, 0, both);
  ASSERT_EQ(copy.nodes().size(), 2u);
  // Once more, as when nobody heard that it had worked.
  extend_graph(copy, 0, both);
  EXPECT_EQ(copy.nodes().size(), 2u);
  make("Neg", {y}, {}, "z");
  extend_graph(copy, 1, to_graph_def_from(whole, 1));
  ASSERT_EQ(copy.nodes().size(), 3u);
  EXPECT_EQ(copy.find("z")->input(0).node, copy.find("y"));
}

TEST(ExtendGraph, RefusesWhatDoesNotContinueIt) {
  Graph whole, copy;
  placeholder(whole, {.name = "x"});
  placeholder(whole, {.name = "y"});
  EXPECT_THROW(extend_graph(copy, 1, to_graph_def_from(whole, 1)), Error);
  extend_graph(copy, 0, to_graph_def_from(whole, 0));
  EXPECT_THROW(extend_graph(copy, 0, to_graph_def_from(whole, 1)), Error);
}

}  // namespace
}  // namespace rondo
