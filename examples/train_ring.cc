// Trains a perceptron on all ranks of a job, as examples/train.cc does on one:
//
//   rondo run -n 4 --strategy ring -- train_ring [STEPS]
//
// The lines marked <- are all that is distributed. Each rank takes its share of
// the same batch, so what it prints does not depend on how many ranks there
// are.
#include <rondo/graph.h>
#include <rondo/models.h>
#include <rondo/train/strategy.h>

#include <cstdio>
#include <random>
#include <string>

using namespace rondo;

namespace {

constexpr int64_t kBatch = 64;

struct Batch {
  explicit Batch(int64_t rows)
      : points(Tensor::empty({rows, 2})),
        inside(Tensor::empty({rows}, DType::kI64)) {}
  Tensor points;
  Tensor inside;
};

// Share `rank` of `size` of the next kBatch points.
Batch next(std::mt19937& random, int rank, int size) {
  std::uniform_real_distribution<float> coordinate(-1, 1);
  const int64_t rows = kBatch / size;
  Batch batch(rows);
  for (int64_t i = 0; i < kBatch; ++i) {
    const float x = coordinate(random);
    const float y = coordinate(random);
    if (i / rows != rank) continue;
    const auto at = static_cast<size_t>(i % rows);
    batch.points.span<float>()[2 * at] = x;
    batch.points.span<float>()[2 * at + 1] = y;
    batch.inside.span<int64_t>()[at] = x * x + y * y < 0.5f ? 1 : 0;
  }
  return batch;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::stoi(argv[1]) : 100;
  Graph g;
  g.set_seed(1);
  Value x = placeholder(g, {.shape = {kAny, 2}, .name = "x"});
  Value y = placeholder(g, {.dtype = DType::kI64, .shape = {kAny}});
  models::MLP model({.units = {32, 32}, .classes = 2});
  Value loss = models::loss(y, model(x));
  Strategy strategy = Strategy::from_env().value();  // <-
  Momentum momentum({.learning_rate = 0.1});
  auto optimizer = strategy.distribute(momentum);  // <-
  Node& train = models::train_op(optimizer, loss);

  Session session(g);
  session.run(strategy.initializer(g)).value();  // <-
  std::mt19937 random(1);
  std::mt19937 other(2);
  const Batch test = next(other, 0, 1);
  for (int step = 0; step < steps; ++step) {
    const Batch batch = next(random, strategy.rank(), strategy.size());
    session.run(train, {{x, batch.points}, {y, batch.inside}}).value();
    if (strategy.rank() != 0) continue;
    const Tensor now =
        session.run(loss, {{x, test.points}, {y, test.inside}}).value();
    std::printf("step %d: loss %.6f\n", step, now.span<float>()[0]);
  }
}
