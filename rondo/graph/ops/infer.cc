#include "rondo/graph/ops/infer.h"

namespace rondo::infer {
namespace {

Status broadcast_to(InferContext& c, DType dtype) {
  PartialShape shape = c.shape(0);
  for (int i = 1; i < c.inputs(); ++i) {
    RONDO_ASSIGN_OR_RETURN(shape, broadcast(shape, c.shape(i)));
  }
  c.output(dtype, std::move(shape));
  return {};
}

}  // namespace

Status like_input(InferContext& c) {
  c.output(c.dtype(0), c.shape(0));
  return {};
}

Status broadcast_inputs(InferContext& c) { return broadcast_to(c, c.dtype(0)); }

Status compare_inputs(InferContext& c) { return broadcast_to(c, DType::kBool); }

Status nothing(InferContext&) { return {}; }

}  // namespace rondo::infer
