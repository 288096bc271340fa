// Trains a perceptron to tell the points within a circle from those outside.
#include <rondo/graph.h>
#include <rondo/models.h>

#include <cstdio>
#include <random>

using namespace rondo;

namespace {

struct Batch {
  Tensor points = Tensor::empty({256, 2});
  Tensor inside = Tensor::empty({256}, DType::kI64);
};

Batch next(std::mt19937& random) {
  std::uniform_real_distribution<float> coordinate(-1, 1);
  Batch batch;
  const auto points = batch.points.span<float>();
  for (float& x : points) x = coordinate(random);
  for (size_t i = 0; i < 256; ++i) {
    const float x = points[2 * i];
    const float y = points[2 * i + 1];
    batch.inside.span<int64_t>()[i] = x * x + y * y < 0.5f ? 1 : 0;
  }
  return batch;
}

}  // namespace

int main() {
  Graph g;
  g.set_seed(1);
  Value x = placeholder(g, {.shape = {kAny, 2}, .name = "x"});
  Value y = placeholder(g, {.dtype = DType::kI64, .shape = {kAny}});
  models::MLP model({.units = {32, 32}, .classes = 2});
  Value logits = model(x);
  Value loss = models::loss(y, logits);
  Momentum momentum({.learning_rate = 0.1});
  Node& train = models::train_op(momentum, loss);
  Value right = reduce_mean(cast(equal(argmax(logits, 1), y), DType::kF32));

  Session session(g);
  session.run(initializer(g)).value();
  std::mt19937 random(1);
  for (int step = 0; step <= 500; ++step) {
    const Batch batch = next(random);
    const std::vector<Feed> feeds = {{x, batch.points}, {y, batch.inside}};
    const auto out = session.run({loss, right}, feeds, {&train}).value();
    if (step % 100 == 0)
      std::printf("step %d: loss %.4f, %.1f %% right\n", step,
                  out[0].span<float>()[0], 100 * out[1].span<float>()[0]);
  }
}
