// Model parallel: the first layer on one worker, the second on another, and
// batches cut into micro-batches, so that both compute at once.
//
//   cluster="worker=h1:2222,h2:2222"
//   rondo server --cluster "$cluster" --job worker --task 0
//   rondo server --cluster "$cluster" --job worker --task 1
//   stages "$cluster"
//
// Without a cluster the stages are two devices of this process.
#include "circle.h"

using namespace circle;

namespace {

constexpr int kMicroBatches = 4;

}  // namespace

int main(int argc, char** argv) {
  const char* const cluster = argc > 1 ? argv[1] : nullptr;
  const std::string stages[] = {cluster ? "/job:worker/task:0" : "/cpu:0",
                                cluster ? "/job:worker/task:1" : "/cpu:1"};
  auto layer = [&](Graph& g, int stage, int64_t from, int64_t to) {
    const DeviceScope scope(g, stages[stage]);
    return Layer(g, from, to, std::to_string(stage));
  };
  Graph g;
  g.set_seed(1);
  const Inputs inputs(g);
  const Layer first = layer(g, 0, 2, 32), second = layer(g, 1, 32, 2);
  const auto points = split(inputs.points, kMicroBatches);
  const auto inside = split(inputs.inside, kMicroBatches);
  std::vector<Value> losses;
  std::vector<std::vector<GradientAndVariable>> gradients;
  for (size_t i = 0; i < kMicroBatches; ++i) {
    Value hidden;
    {
      const DeviceScope scope(g, stages[0]);
      hidden = relu(first(points[i]));
    }
    const DeviceScope scope(g, stages[1]);
    losses.push_back(models::loss(inside[i], second(hidden)));
  }
  // What a gradient is made of goes to where its value was made.
  for (const Value& loss : losses)
    gradients.push_back(Optimizer::compute_gradients(
        loss, {first.weights, first.bias, second.weights, second.bias}));
  Momentum momentum({.learning_rate = 0.1});
  Node& update = momentum.apply_gradients(averaged(gradients));
  const double share = 1.0 / kMicroBatches;
  train(*open(g, cluster), inputs, add_n(losses) * share, update);
}
