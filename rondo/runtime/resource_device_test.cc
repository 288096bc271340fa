// Queues and the like keep the device whose scope they were made in.
#include <gtest/gtest.h>

#include "rondo/graph/ops/accumulator.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/critical_section.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/queue.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/placement/placement.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

const SessionOptions kTwo = {.intra_op_threads = 1, .devices = {{"cpu", 2}}};

float number(const Tensor& t) { return t.span<float>()[0]; }

class ResourceDeviceTest : public testing::Test {
 protected:
  Value number_of(double x, DType type = DType::kF32) {
    return constant(g_, x, type);
  }
  // Placement by cost refuses what asks for two devices at once.
  void expect_places() {
    const PlacementRequest request = {
        .devices = {
            {.name = DeviceName::parse("/job:localhost/task:0/cpu:0").value()},
            {.name =
                 DeviceName::parse("/job:localhost/task:0/cpu:1").value()}}};
    const auto placed = place(g_, request);
    EXPECT_TRUE(placed.ok()) << placed.status().message();
  }
  Graph g_;
};

TEST_F(ResourceDeviceTest, AQueueStaysWhereItWasMade) {
  const FIFOQueue queue = [&] {
    const DeviceScope device(g_, "/cpu:1");
    return FIFOQueue(g_, {DType::kF32}, {.shapes = {PartialShape::scalar()}});
  }();
  const DeviceScope device(g_, "/cpu:0");
  Node& put = queue.enqueue({number_of(7)});
  const Value got = queue.dequeue()[0];
  Node& close = queue.close();
  EXPECT_EQ(put.device(), "/cpu:1");
  EXPECT_EQ(got.node->device(), "/cpu:1");
  EXPECT_EQ(close.device(), "/cpu:1");
  expect_places();
  Session session(g_, kTwo);
  ASSERT_TRUE(session.run(put).ok());
  EXPECT_EQ(number(session.run(got + number_of(1)).value()), 8);
  EXPECT_TRUE(session.run(close).ok());
}

TEST_F(ResourceDeviceTest, OneMadeNowhereAsksForNothing) {
  const FIFOQueue queue(g_, {DType::kF32});
  const DeviceScope device(g_, "/cpu:1");
  EXPECT_EQ(queue.enqueue({number_of(7)}).device(), "");
}

TEST_F(ResourceDeviceTest, AnAccumulatorStaysWhereItWasMade) {
  const ConditionalAccumulator sum = [&] {
    const DeviceScope device(g_, "/cpu:1");
    return ConditionalAccumulator(
        g_, {.shape = PartialShape::scalar(), .reduction_type = "SUM"});
  }();
  const DeviceScope device(g_, "/cpu:0");
  Node& apply = sum.apply_grad(number_of(3), number_of(0, DType::kI64));
  const Value taken = sum.take_grad(number_of(2, DType::kI64));
  EXPECT_EQ(apply.device(), "/cpu:1");
  EXPECT_EQ(taken.node->device(), "/cpu:1");
  expect_places();
  Session session(g_, kTwo);
  ASSERT_TRUE(session.run(apply).ok());
  ASSERT_TRUE(session.run(apply).ok());
  EXPECT_EQ(number(session.run(taken).value()), 6);
}

TEST_F(ResourceDeviceTest, ACriticalSectionStaysWhereItWasMade) {
  CriticalSection section = [&] {
    const DeviceScope device(g_, "/cpu:1");
    return CriticalSection(g_);
  }();
  const DeviceScope device(g_, "/cpu:0");
  Value inside;
  const auto results = section.execute([&] {
    inside = number_of(1) + number_of(2);
    return std::vector<Value>{inside};
  });
  EXPECT_EQ(inside.node->device(), "/cpu:0");
  EXPECT_EQ(section.acquire().node->device(), "/cpu:1");
  expect_places();
  Session session(g_, kTwo);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(number(session.run(results[0]).value()), 3);
}

}  // namespace
}  // namespace rondo
