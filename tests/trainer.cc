// trainer MODEL STEPS [factors]: trains by the strategy of the environment, or
// by a ring that sends factors of gradients, and prints on rank 0 the loss on
// the same batch after each step.
#include <rondo/graph.h>
#include <rondo/models.h>
#include <rondo/train/strategy.h>

#include <cstdio>
#include <random>
#include <string>

using namespace rondo;

namespace {

constexpr int64_t kBatch = 32;
constexpr int64_t kWords = 500;

struct Model {
  Value x;
  Value logits;
  std::vector<int64_t> row;  // the shape of one of x's rows
};

Model model_of(Graph& g, const std::string& name) {
  if (name == "embedding") {
    Value x = placeholder(g, {.dtype = DType::kI64, .shape = {kAny, 4}});
    Value table = variable(g, random_uniform(g, {kWords, 10}, -0.1, 0.1),
                           {.name = "table"});
    return {x, reduce_mean(gather(table, x), {.axes = {1}}), {4}};
  }
  Value x = placeholder(g, {.shape = {kAny, 28, 28, 1}});
  models::LeNet lenet({.filters = {4, 8}, .units = 16});
  return {x, lenet(x), {28, 28, 1}};
}

struct Batch {
  Tensor x;
  Tensor y;
};

// Share `rank` of `size` of the next kBatch rows, which are the same on all.
Batch next(std::mt19937& random, const Model& model, int rank, int size) {
  const int64_t rows = kBatch / size;
  std::vector<int64_t> extents = {rows};
  extents.insert(extents.end(), model.row.begin(), model.row.end());
  Batch batch{Tensor::empty(Shape(extents), model.x.dtype()),
              Tensor::empty({rows}, DType::kI64)};
  const int64_t width = batch.x.count() / rows;
  for (int64_t i = 0; i < kBatch; ++i) {
    const bool mine = i / rows == rank;
    const auto label = static_cast<int64_t>(random() % 10);
    if (mine) batch.y.span<int64_t>()[static_cast<size_t>(i % rows)] = label;
    for (int64_t k = 0; k < width; ++k) {
      const auto noise = static_cast<int64_t>(random() % 50);
      const auto at = static_cast<size_t>(i % rows * width + k);
      if (!mine) continue;
      if (batch.x.dtype() == DType::kI64)
        batch.x.span<int64_t>()[at] = label * 50 + noise;
      else
        batch.x.span<float>()[at] =
            static_cast<float>(label * 10 + noise) / 100.0F;
    }
  }
  return batch;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  Graph g;
  g.set_seed(1);
  const Model model = model_of(g, argv[1]);
  Value y = placeholder(g, {.dtype = DType::kI64, .shape = {kAny}});
  Value loss = models::loss(y, model.logits);
  const bool factors = argc > 3 && argv[3] == std::string("factors");
  const Strategy strategy =
      (factors ? Strategy::ring({.factors = {.use = FactorUse::kOn}})
               : Strategy::from_env())
          .value();
  Momentum momentum({.learning_rate = 0.05});
  auto optimizer = strategy.distribute(momentum);
  Node& train = models::train_op(optimizer, loss);
  Session session(g);
  session.run(strategy.initializer(g)).value();
  std::mt19937 random(1);
  const Batch test = next(random, model, 0, 1);
  const int steps = std::stoi(argv[2]);
  for (int step = 0; step < steps; ++step) {
    const Batch batch = next(random, model, strategy.rank(), strategy.size());
    session.run(train, {{model.x, batch.x}, {y, batch.y}}).value();
    if (strategy.rank() != 0) continue;
    const Tensor now =
        session.run(loss, {{model.x, test.x}, {y, test.y}}).value();
    std::printf("step %d: loss %.6f\n", step, now.span<float>()[0]);
  }
  strategy.check_replicas(session).value();
}
