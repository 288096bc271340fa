#include "rondo/graph/ops/costs.h"

namespace rondo::cost {

double elements(const PartialShape& shape) {
  double count = 1;
  if (shape.has_rank())
    for (const int64_t extent : shape.extents())
      if (extent != kAny) count *= static_cast<double>(extent);
  return count;
}

double bytes_of_input(const Node& node, int i) {
  return bytes_of({node.input(i).dtype(), node.input(i).shape()});
}

double all_bytes(const Node& node) {
  double bytes = 0;
  for (const Value& input : node.inputs())
    bytes += bytes_of({input.dtype(), input.shape()});
  for (const TensorType& output : node.outputs()) bytes += bytes_of(output);
  return bytes;
}

OpCost none(const Node&) { return {}; }

OpCost copied(const Node& node) { return {.bytes = all_bytes(node)}; }

OpCost moved(const Node& node) {
  OpCost cost;
  for (const TensorType& output : node.outputs())
    cost.bytes += 2 * bytes_of(output);
  return cost;
}

}  // namespace rondo::cost
