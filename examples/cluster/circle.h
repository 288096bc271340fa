// What the programs of this folder have in common: a small perceptron that
// tells the points within a circle from those outside.
#pragma once

#include <rondo/cluster/server.h>
#include <rondo/graph.h>
#include <rondo/models.h>

#include <cstdio>
#include <random>

namespace circle {

using namespace rondo;

inline constexpr int kBatch = 256;

struct Layer {
  Layer(Graph& g, int64_t from, int64_t to, const std::string& name)
      : weights(variable(g, random_normal(g, {from, to}, 0, 0.5),
                         {.name = "w" + name})),
        bias(variable(g, zeros(g, {to}), {.name = "b" + name})) {}
  Value operator()(Value x) const { return bias_add(matmul(x, weights), bias); }
  Value weights, bias;
};

struct Perceptron {
  explicit Perceptron(Graph& g) : first(g, 2, 32, "1"), second(g, 32, 2, "2") {}
  Value operator()(Value x) const { return second(relu(first(x))); }
  std::vector<Value> variables() const {
    return {first.weights, first.bias, second.weights, second.bias};
  }
  Layer first, second;
};

// Points, and whether they are within the circle.
struct Inputs {
  explicit Inputs(Graph& g)
      : points(placeholder(g, {.shape = {kBatch, 2}, .name = "points"})),
        inside(placeholder(
            g, {.dtype = DType::kI64, .shape = {kBatch}, .name = "inside"})) {}
  std::vector<Feed> next(std::mt19937& random) const {
    std::uniform_real_distribution<float> coordinate(-1, 1);
    Tensor at = Tensor::empty({kBatch, 2});
    Tensor is_in = Tensor::empty({kBatch}, DType::kI64);
    for (float& x : at.span<float>()) x = coordinate(random);
    for (size_t i = 0; i < kBatch; ++i) {
      const float x = at.span<float>()[2 * i];
      const float y = at.span<float>()[2 * i + 1];
      is_in.span<int64_t>()[i] = x * x + y * y < 0.5f ? 1 : 0;
    }
    return {{points, at}, {inside, is_in}};
  }
  Value points, inside;
};

// The gradients of all parts of a batch as one.
inline std::vector<GradientAndVariable> averaged(
    const std::vector<std::vector<GradientAndVariable>>& parts) {
  std::vector<GradientAndVariable> all;
  for (size_t i = 0; i < parts[0].size(); ++i) {
    std::vector<Value> terms;
    for (const auto& part : parts) terms.push_back(part[i].gradient.values);
    const double share = 1.0 / static_cast<double>(terms.size());
    all.push_back({add_n(terms) * share, parts[0][i].variable});
  }
  return all;
}

// A session of a cluster's worker 0, or of two devices of this process.
inline std::unique_ptr<Session> open(Graph& g, const char* cluster) {
  if (!cluster)
    return std::make_unique<Session>(g,
                                     SessionOptions{.devices = {{"cpu", 2}}});
  const auto spec = ClusterSpec::parse(cluster).value();
  const auto address = spec.address({"worker", 0}).value();
  return open_session(g, "grpc://" + address,
                      ClusterOptions::from(Env::process()).value())
      .value();
}

inline void train(Session& session, const Inputs& inputs, Value loss,
                  Node& update) {
  session.run(initializer(session.graph())).value();
  std::mt19937 random(1);
  for (int step = 0; step <= 300; ++step) {
    const auto out =
        session.run({loss}, inputs.next(random), {&update}).value();
    if (step % 100 == 0)
      std::printf("step %d: loss %.4f\n", step, out[0].span<float>()[0]);
  }
}

}  // namespace circle
