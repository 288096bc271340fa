// A small model that tests of strategies train, and how one process does.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rondo/graph/ops/array.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/matrix.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/graph/ops/state.h"
#include "rondo/graph/optimizers.h"
#include "rondo/runtime/session.h"

namespace rondo {

inline constexpr int64_t kWidth = 6;
inline constexpr int64_t kBatch = 8;
inline constexpr int kSteps = 5;

inline Tensor numbers(const Shape& shape, int seed) {
  Tensor t = Tensor::empty(shape);
  for (int64_t i = 0; i < t.count(); ++i)
    t.span<float>()[static_cast<size_t>(i)] =
        static_cast<float>((i * 37 + seed * 101) % 19 - 9) / 10.0F;
  return t;
}

// Two dense layers over rows of a table, every rank with other initial values.
struct Model {
  explicit Model(int rank) {
    ids = placeholder(graph, {.dtype = DType::kI64, .shape = {kAny}});
    const auto weights = [&](const char* name, const Shape& shape, int seed) {
      return variable(graph, constant(graph, numbers(shape, 10 * rank + seed)),
                      {.name = name});
    };
    Value h = gather(weights("table", {40, kWidth}, 1), ids);
    h = make("Tanh", {matmul(h, weights("w0", {kWidth, kWidth}, 2))});
    h = make("Tanh", {matmul(h, weights("w1", {kWidth, kWidth}, 3))});
    loss = reduce_mean(make("Square", {h}));
  }
  Graph graph;
  Value ids;
  Value loss;
};

// This rank's share of a step's batch; rows come several times in it.
inline Tensor share(int step, int rank, int size) {
  const int64_t rows = kBatch / size;
  Tensor ids = Tensor::empty({rows}, DType::kI64);
  for (int64_t i = 0; i < rows; ++i)
    ids.span<int64_t>()[static_cast<size_t>(i)] =
        ((rank * rows + i) * 7 + step * 3) % 20;
  return ids;
}

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;

inline std::vector<float> trained(Session& session, Model& model, Node& train,
                                  int rank, int size) {
  std::vector<float> losses;
  for (int step = 0; step < kSteps; ++step) {
    const auto out =
        session
            .run({model.loss}, {{model.ids, share(step, rank, size)}}, {&train})
            .value();
    losses.push_back(out[0].span<float>()[0]);
  }
  return losses;
}

inline std::vector<float> alone(const MakeOptimizer& make_optimizer) {
  Model model(0);
  const auto optimizer = make_optimizer();
  Node& train = optimizer->minimize(model.loss);
  Session session(model.graph);
  session.run(initializer(model.graph)).value();
  return trained(session, model, train, 0, 1);
}

template <class Made, class Options>
MakeOptimizer of(const Options& options) {
  return [=] { return std::make_unique<Made>(options); };
}

}  // namespace rondo
