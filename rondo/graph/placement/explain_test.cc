#include <gtest/gtest.h>

#include "rondo/graph/placement/test_graph.h"

namespace rondo {
namespace {

TEST(ExplainPlacement, IsATableOfNodesDevicesAndLinks) {
  TimedGraph t;
  Node& source = t.add("source", {}, 1e-3, 1e6);
  Node& left = t.add("left", {&source}, 8e-3, 2e6);
  Node& right = t.add("right", {&source}, 9e-3, 2e6);
  Node& sum = t.add("sum", {&left, &right}, 1e-3, 1e6);
  sum.set_device(cpu(0));
  const Placement placed =
      place(t.g, t.request(2, {.latency = 0, .bytes_per_s = 1e9})).value();
  EXPECT_EQ(explain(placed), "");
}

}  // namespace
}  // namespace rondo
