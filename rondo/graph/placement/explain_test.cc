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
  EXPECT_EQ(explain(placed),
            R"(node    operation  device                       why
source  Variable   /job:localhost/task:0/cpu:1  by search: the step takes 12 ms, with it on /job:localhost/task:0/cpu:0 13 ms
left    AddN       /job:localhost/task:0/cpu:1  finishes first: at 10 ms, on /job:localhost/task:0/cpu:0 at 18 ms
right   AddN       /job:localhost/task:0/cpu:0  finishes as early as elsewhere: at 10 ms, on /job:localhost/task:0/cpu:1 at 10 ms
sum     AddN       /job:localhost/task:0/cpu:0  asked for: /job:localhost/task:0/cpu:0

predicted step: 12 ms; all on /job:localhost/task:0/cpu:0: 19 ms; 14 simulations

device                       nodes  busy   state
/job:localhost/task:0/cpu:0  2      10 ms  0 B
/job:localhost/task:0/cpu:1  2      9 ms   4 B

from                         to                           tensors  bytes      busy
/job:localhost/task:0/cpu:1  /job:localhost/task:0/cpu:0  2        3000.0 kB  3 ms
)");
}

}  // namespace
}  // namespace rondo
