#include "rondo/graph/ops/costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gathering.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/pool.h"
#include "rondo/graph/ops/random.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/ops/update.h"

namespace rondo {
namespace {

using testing::ElementsAre;

// Those that compute nothing: they hand tensors on or move them, wait, or do
// input and output.
const std::set<std::string_view> kComputesNothing = {
    "AccumulatorNumAccumulated",
    "AccumulatorResumeAt",
    "AccumulatorSetGlobalStep",
    "AllGather",
    "AllGatherRows",
    "Assert",
    "Assign",
    "AssignAll",
    "Await",
    "Broadcast",
    "BroadcastTo",
    "Concat",
    "Const",
    "CustomGradient",
    "EmbeddingLookup",
    "Enter",
    "Exit",
    "ExpandDims",
    "Fill",
    "Gather",
    "GatherNd",
    "HostCall",
    "Identity",
    "IsInitialized",
    "IteratorGetNext",
    "LoopCond",
    "MakeIterator",
    "MatrixBandPart",
    "MatrixDiag",
    "MatrixDiagPart",
    "MatrixSetDiag",
    "Merge",
    "MergeSummary",
    "MutexAcquire",
    "MutexRelease",
    "NewStack",
    "NextIteration",
    "NoOp",
    "OneHot",
    "OnesLike",
    "Pad",
    "Placeholder",
    "Print",
    "PrintLine",
    "PullSlots",
    "PushPull",
    "PushPullRows",
    "QueueClose",
    "QueueDequeue",
    "QueueDequeueMany",
    "QueueDequeueUpTo",
    "QueueEnqueue",
    "QueueEnqueueMany",
    "QueueIsClosed",
    "QueueSize",
    "RandomShuffle",
    "Rank",
    "ReadFile",
    "Recv",
    "Reshape",
    "Restore",
    "RestoreAxes",
    "Reverse",
    "Save",
    "ScalarSummary",
    "Send",
    "SetParameters",
    "Shape",
    "Size",
    "Slice",
    "SliceGrad",
    "Split",
    "SplitLike",
    "SplitV",
    "Squeeze",
    "Stack",
    "StackRead",
    "StackWrite",
    "StopGradient",
    "StridedSlice",
    "StridedSliceGrad",
    "SumToGrad",
    "Switch",
    "TakeAlongAxis",
    "TextSummary",
    "Tile",
    "Transpose",
    "Unstack",
    "Variable",
    "WriteFile",
    "ZerosLike"};

// Tests of this program add operations of their own.
bool ours(const OpDef& op) { return !op.name.starts_with("Test"); }

TEST(Costs, EveryOperationHasAFunction) {
  std::vector<std::string_view> without;
  for (const OpDef* op : OpRegistry::process().all())
    if (ours(*op) && !op->cost) without.push_back(op->name);
  EXPECT_THAT(without, ElementsAre());
}

// A new operation either counts its operations, or is added to the list.
TEST(Costs, OfAllButTheseOperationsAreCounted) {
  std::vector<std::string_view> computes_nothing;
  for (const OpDef* op : OpRegistry::process().all())
    if (ours(*op) && (op->cost == cost::none || op->cost == cost::copied ||
                      op->cost == cost::moved))
      computes_nothing.push_back(op->name);
  EXPECT_THAT(computes_nothing, testing::ElementsAreArray(kComputesNothing));
}

TEST(Costs, CountTheElementsOfResultsOrInputs) {
  Graph g;
  const Value x = placeholder(g, {.shape = {4, 5}});
  const Value row = placeholder(g, {.shape = {5}});
  EXPECT_EQ(cost_of(*add(x, row).node).flops, 20);
  EXPECT_EQ(cost_of(*add(x, row).node).bytes, 4 * (20 + 5 + 20));
  EXPECT_EQ(cost_of(*add_n({x, x, x}).node).flops, 2 * 20);
  EXPECT_EQ(cost_of(*exp(x).node).flops, 20 * cost::kFunction);
  EXPECT_EQ(cost_of(*reduce_sum(x).node).flops, 20);
  EXPECT_GT(cost_of(*softmax(x).node).flops, 20 * cost::kFunction);
  EXPECT_EQ(cost_of(*random_uniform(g, {3, 3}).node).flops, 9 * cost::kRandom);
  const Value image = placeholder(g, {.shape = {2, 8, 8, 3}});
  EXPECT_EQ(cost_of(*max_pool(image).node).flops, 2 * 7 * 7 * 3 * 4);
}

TEST(Costs, UnknownExtentsCountAsOne) {
  Graph g;
  const Value x = placeholder(g, {.shape = {kAny, 5}});
  EXPECT_EQ(cost_of(*square(x).node).flops, 5);
}

TEST(Costs, RowsAreWhatCountsInALargeTable) {
  Graph g;
  const Value table = variable(g, zeros(g, {1000, 8}));
  const Value ids = placeholder(g, {.dtype = DType::kI64, .shape = {3}});
  const Value rows = placeholder(g, {.shape = {3, 8}});
  EXPECT_EQ(cost_of(*gather(table, ids).node).bytes, 2 * 3 * 8 * 4);
  const OpCost added = cost_of(*scatter_add(table, ids, rows).node);
  EXPECT_EQ(added.flops, 3 * 8);
  EXPECT_EQ(added.bytes, 3 * 3 * 8 * 4);
}

TEST(Costs, OptimizersReadAndWriteTheirSlots) {
  Graph g;
  const Value w = variable(g, zeros(g, {10, 10}));
  const Value velocity = variable(g, zeros(g, {10, 10}));
  const Value rate = constant(g, 0.1, DType::kF32);
  const Value gradient = placeholder(g, {.shape = {10, 10}});
  const OpCost momentum =
      cost_of(*apply_momentum(w, velocity, gradient, {rate, rate}).node);
  EXPECT_EQ(momentum.flops, 4 * 100);
  EXPECT_EQ(momentum.bytes, 5 * 100 * 4);
  EXPECT_EQ(cost_of(*apply_gradient_descent(w, gradient, rate).node).bytes,
            3 * 100 * 4);
}

}  // namespace
}  // namespace rondo
