// Data parallel, in one graph: a tower of the model on each of two workers,
// their gradients averaged, the variables on a parameter server.
//
//   cluster="ps=h0:2222;worker=h1:2222,h2:2222"
//   rondo server --cluster "$cluster" --job ps --task 0
//   rondo server --cluster "$cluster" --job worker --task 0
//   rondo server --cluster "$cluster" --job worker --task 1
//   towers "$cluster"
//
// Without a cluster the towers are on two devices of this process.
#include "circle.h"

using namespace circle;

namespace {

struct Places {
  std::string variables;
  std::vector<std::string> towers;
};

}  // namespace

int main(int argc, char** argv) {
  const char* const cluster = argc > 1 ? argv[1] : nullptr;
  const Places at = cluster
                        ? Places{"/job:ps/task:0",
                                 {"/job:worker/task:0", "/job:worker/task:1"}}
                        : Places{"/cpu:0", {"/cpu:0", "/cpu:1"}};
  Graph g;
  g.set_seed(1);
  const Inputs inputs(g);
  const Perceptron model = [&] {
    const DeviceScope scope(g, at.variables);
    return Perceptron(g);
  }();
  const auto points = split(inputs.points, 2);
  const auto inside = split(inputs.inside, 2);
  std::vector<Value> losses;
  std::vector<std::vector<GradientAndVariable>> towers;
  for (size_t i = 0; i < 2; ++i) {
    const DeviceScope scope(g, at.towers[i]);
    losses.push_back(models::loss(inside[i], model(points[i])));
    towers.push_back(
        Optimizer::compute_gradients(losses.back(), model.variables()));
  }
  Momentum momentum({.learning_rate = 0.1});
  Node& update = momentum.apply_gradients(averaged(towers));
  train(*open(g, cluster), inputs, add_n(losses) * 0.5, update);
}
