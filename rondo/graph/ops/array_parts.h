// What the files of the array operations share.
#pragma once

#include <optional>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/graph/op_registry.h"

namespace rondo {

void register_joining_ops(OpRegistry& ops);
void register_shaping_ops(OpRegistry& ops);
void register_slicing_ops(OpRegistry& ops);
void register_gathering_ops(OpRegistry& ops);
void register_searching_ops(OpRegistry& ops);

namespace array {

Ints extents_of(const PartialShape& shape);
// The integers of input i where every one of them is known.
std::optional<Ints> exact_ints(const InferContext& c, int i);
// What input i, a vector of extents, says of a shape.
Result<PartialShape> shape_from(const InferContext& c, int i);
// The length of input i, a vector; kAny where it is not known.
int64_t length_of(const InferContext& c, int i);
std::vector<Value> outputs_of(Node& node);
// The gradient of each output; zeros where nothing depends on it.
std::vector<Value> all_grads(Node& node, std::span<const Value> grads);
// With extents that are not known yet, which a shape cannot be made from.
inline bool exact(const Ints& extents) {
  for (const int64_t extent : extents)
    if (extent == kAny) return false;
  return true;
}

}  // namespace array
}  // namespace rondo
