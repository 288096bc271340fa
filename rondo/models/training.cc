#include "rondo/models/training.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/reduction.h"
#include "rondo/models/layers.h"

namespace rondo::models {

Value loss(Value labels, Value logits) {
  const PartialShape& shape = logits.shape();
  if (shape.has_rank() && shape.rank() != 2) {
    logits = reshape(logits,
                     Ints{-1, known_extent(logits, shape.rank() - 1, "loss")});
    labels = reshape(labels, Ints{-1});
  }
  return reduce_mean(sparse_softmax_cross_entropy_with_logits(logits, labels));
}

Node& train_op(Optimizer& optimizer, Value loss) {
  Graph& graph = loss.graph();
  std::vector<Node*> nodes = {&optimizer.minimize(loss)};
  for (const Value& update : graph.collection(kUpdates))
    nodes.push_back(update.node);
  return group(graph, nodes, "train");
}

}  // namespace rondo::models
