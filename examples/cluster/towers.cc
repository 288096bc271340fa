// Data parallel, in one graph: a tower of the model on each of two workers,
// their gradients averaged, the variables on a parameter server.
//
//   C="ps=h0:2222;worker=h1:2222,h2:2222"
//   rondo server --cluster "$C" --job ps --task 0
//   rondo server --cluster "$C" --job worker --task 0
//   rondo server --cluster "$C" --job worker --task 1
//   towers "$C"
//
// Without a cluster the towers are on two devices of this process.
#include <rondo/cluster/server.h>
#include <rondo/graph.h>
#include <rondo/models.h>

#include <cstdio>
#include <random>

using namespace rondo;

namespace {

constexpr int kBatch = 256;

struct Places {
  std::string variables;
  std::vector<std::string> towers;
};

struct Variables {
  explicit Variables(Graph& g)
      : w1(variable(g, random_normal(g, {2, 32}, 0, 0.7), {.name = "w1"})),
        b1(variable(g, zeros(g, {32}), {.name = "b1"})),
        w2(variable(g, random_normal(g, {32, 2}, 0, 0.2), {.name = "w2"})),
        b2(variable(g, zeros(g, {2}), {.name = "b2"})) {}
  Value logits(Value x) const {
    return bias_add(matmul(relu(bias_add(matmul(x, w1), b1)), w2), b2);
  }
  std::vector<Value> all() const { return {w1, b1, w2, b2}; }
  Value w1, b1, w2, b2;
};

// The gradients of all towers as one.
std::vector<GradientAndVariable> averaged(
    const std::vector<std::vector<GradientAndVariable>>& towers) {
  std::vector<GradientAndVariable> all;
  for (size_t i = 0; i < towers[0].size(); ++i) {
    std::vector<Value> terms;
    for (const auto& tower : towers) terms.push_back(tower[i].gradient.values);
    const double share = 1.0 / static_cast<double>(terms.size());
    all.push_back({add_n(terms) * share, towers[0][i].variable});
  }
  return all;
}

// Points, and whether they are within a circle.
std::vector<Tensor> next(std::mt19937& random) {
  std::uniform_real_distribution<float> coordinate(-1, 1);
  Tensor points = Tensor::empty({kBatch, 2});
  Tensor inside = Tensor::empty({kBatch}, DType::kI64);
  for (float& x : points.span<float>()) x = coordinate(random);
  for (size_t i = 0; i < kBatch; ++i) {
    const float x = points.span<float>()[2 * i];
    const float y = points.span<float>()[2 * i + 1];
    inside.span<int64_t>()[i] = x * x + y * y < 0.5f ? 1 : 0;
  }
  return {points, inside};
}

std::unique_ptr<Session> open(Graph& g, const char* cluster) {
  if (!cluster)
    return std::make_unique<Session>(g,
                                     SessionOptions{.devices = {{"cpu", 2}}});
  const auto spec = ClusterSpec::parse(cluster).value();
  const auto address = spec.address({"worker", 0}).value();
  return open_session(g, "grpc://" + address,
                      ClusterOptions::from(Env::process()).value())
      .value();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const cluster = argc > 1 ? argv[1] : nullptr;
  const Places at = cluster
                        ? Places{"/job:ps/task:0",
                                 {"/job:worker/task:0", "/job:worker/task:1"}}
                        : Places{"/cpu:0", {"/cpu:0", "/cpu:1"}};
  Graph g;
  g.set_seed(1);
  Value x = placeholder(g, {.shape = {kBatch, 2}, .name = "x"});
  Value y = placeholder(g, {.dtype = DType::kI64, .shape = {kBatch}});
  const Variables variables = [&] {
    const DeviceScope scope(g, at.variables);
    return Variables(g);
  }();
  const auto points = split(x, 2);
  const auto inside = split(y, 2);
  std::vector<Value> losses;
  std::vector<std::vector<GradientAndVariable>> towers;
  for (size_t i = 0; i < 2; ++i) {
    const DeviceScope scope(g, at.towers[i]);
    losses.push_back(models::loss(inside[i], variables.logits(points[i])));
    towers.push_back(
        Optimizer::compute_gradients(losses.back(), variables.all()));
  }
  Momentum momentum({.learning_rate = 0.1});
  Value loss = add_n(losses) * 0.5;
  Node& train = momentum.apply_gradients(averaged(towers));

  const auto session = open(g, cluster);
  session->run(initializer(g)).value();
  std::mt19937 random(1);
  for (int step = 0; step <= 300; ++step) {
    const auto batch = next(random);
    const auto out =
        session->run({loss}, {{x, batch[0]}, {y, batch[1]}}, {&train}).value();
    if (step % 100 == 0)
      std::printf("step %d: loss %.4f\n", step, out[0].span<float>()[0]);
  }
}
