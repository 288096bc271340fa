// What a step on two devices of one process costs besides its work:
//
//   device_step
//
// One element goes through a node on /cpu:1 and one on /cpu:0: two parts, one
// Send, one Recv. Beside it, the same two nodes on one device. Medians of
// batches, in microseconds a step.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/graph.h"

namespace {

using namespace rondo;

double microseconds_a_step(int devices) {
  Graph g;
  Value x = placeholder(g, {.dtype = DType::kF32, .shape = {1}});
  Value y;
  {
    const DeviceScope device(g, devices == 1 ? "/cpu:0" : "/cpu:1");
    y = make("Neg", {x});
  }
  {
    const DeviceScope device(g, "/cpu:0");
    y = make("MatMul",
             {make("Reshape", {y, constant(g, Tensor::full<int64_t>({2}, 1))}),
              constant(g, Tensor::full<float>({1, 1}, 2))});
  }
  Session session(g, {.intra_op_threads = 1, .devices = {{"cpu", devices}}});
  const std::vector<Feed> feeds{{x, Tensor::zeros({1})}};
  std::vector<double> times;
  constexpr int kSteps = 200;
  for (int batch = 0; batch < 50; ++batch) {
    const auto start = Clock::now();
    for (int i = 0; i < kSteps; ++i) session.run({y}, feeds).value();
    times.push_back(to_seconds(Clock::now() - start) * 1e6 / kSteps);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

int main() {
  const double one = microseconds_a_step(1);
  const double two = microseconds_a_step(2);
  fmt::print("one device {:.2f} us, two devices {:.2f} us a step\n", one, two);
  return 0;
}
