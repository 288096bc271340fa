#include "rondo/graph/ops/array.h"

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace array {

Ints extents_of(const PartialShape& shape) {
  return Ints(shape.extents().begin(), shape.extents().end());
}

std::optional<Ints> exact_ints(const InferContext& c, int i) {
  auto ints = c.constant_ints(i);
  // In a constant -1 is a number; in a shape it is an extent not known.
  if (ints && c.at(i).node->op().name != "Const" && !exact(*ints))
    return std::nullopt;
  return ints;
}

Result<PartialShape> shape_from(const InferContext& c, int i) {
  RONDO_RETURN_IF_ERROR(c.want_rank(i, 1, "shape"));
  const auto ints = c.constant_ints(i);
  if (!ints) {
    const int64_t length = length_of(c, i);
    if (length == kAny) return PartialShape();
    return PartialShape::of_rank(static_cast<int>(length));
  }
  if (c.at(i).node->op().name == "Const")
    for (const int64_t extent : *ints)
      if (extent < 0)
        return error(Code::kInvalidArgument,
                     "an extent of the shape is {}, expected 0 or more",
                     extent);
  return PartialShape(*ints);
}

int64_t length_of(const InferContext& c, int i) {
  const PartialShape& shape = c.shape(i);
  return shape.has_rank() && shape.rank() == 1 ? shape[0] : kAny;
}

std::vector<Value> outputs_of(Node& node) {
  std::vector<Value> outputs;
  for (size_t i = 0; i < node.outputs().size(); ++i)
    outputs.push_back(node.output(static_cast<int>(i)));
  return outputs;
}

std::vector<Value> all_grads(Node& node, std::span<const Value> grads) {
  std::vector<Value> all;
  for (size_t i = 0; i < grads.size(); ++i)
    all.push_back(grads[i] ? grads[i]
                           : zeros_like(node.output(static_cast<int>(i))));
  return all;
}

}  // namespace array

void register_array_ops(OpRegistry& ops) {
  register_joining_ops(ops);
  register_shaping_ops(ops);
  register_slicing_ops(ops);
  register_gathering_ops(ops);
  register_searching_ops(ops);
}

}  // namespace rondo
