#include "rondo/graph/ops/row_access.h"

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

Result<PartialShape> row_shape(const InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_scalar(1, "index"));
  const PartialShape& x = c.shape(0);
  if (!x.has_rank()) return PartialShape();
  if (x.rank() == 0)
    return error(Code::kInvalidArgument, "x is a scalar, which has no rows");
  return PartialShape(
      std::vector<int64_t>(x.extents().begin() + 1, x.extents().end()));
}

Status infer_take(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(PartialShape row, row_shape(c));
  c.output(c.dtype(0), std::move(row));
  c.output(c.dtype(0), c.shape(0));
  return {};
}

Status infer_put(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN(const PartialShape row, row_shape(c));
  if (!row.compatible(c.shape(2)))
    return error(Code::kInvalidArgument,
                 "row has shape {}, but the rows of x, of shape {}, have {}",
                 c.shape(2).to_string(), c.shape(0).to_string(),
                 row.to_string());
  c.output(c.dtype(0), c.shape(0));
  return {};
}

Status infer_clear(InferContext& c) {
  RONDO_ASSIGN_OR_RETURN([[maybe_unused]] const PartialShape row, row_shape(c));
  c.output(c.dtype(0), c.shape(0));
  return {};
}

// Gradients use nothing of the nodes' inputs but the index, so that a loop
// keeps only that for its way back, and whole tensors stay free to be changed.
std::vector<Gradient> take_gradient(Node& node, std::span<const Value> grads) {
  const Value x = grads[1] ? grads[1] : zeros_like(node.input(0));
  if (!grads[0]) return {x, {}};
  return {add_row(x, node.input(1), grads[0]), {}};
}

std::vector<Gradient> set_gradient(Node& node, std::span<const Value> grads) {
  const TakenRow taken = take_row(grads[0], node.input(1));
  return {clear_row(taken.x, node.input(1)), {}, taken.row};
}

std::vector<Gradient> add_gradient(Node& node, std::span<const Value> grads) {
  const TakenRow taken = take_row(grads[0], node.input(1));
  return {taken.x, {}, taken.row};
}

std::vector<Gradient> clear_gradient(Node& node, std::span<const Value> grads) {
  return {clear_row(grads[0], node.input(1)), {}};
}

// One row read and written, whatever the tensor's size.
// A row is read and written, and so many operations are done on each element.
template <int kEach>
OpCost row_cost(const Node& node) {
  const PartialShape& x = node.input(0).shape();
  const double rows =
      x.has_rank() && x.rank() > 0 && x[0] > 0 ? static_cast<double>(x[0]) : 1;
  return {kEach * cost::elements(x) / rows,
          2 * cost::bytes_of_input(node, 0) / rows};
}

}  // namespace

void register_row_access_ops(OpRegistry& ops) {
  const InputSpec x{"x"};
  const InputSpec index{"index", TypeSet::kIndex, false, 0};
  ops.add({.name = "TakeRow",
           .doc = "x[index], and x for whoever takes the next one: what a loop "
                  "reads its inputs with.",
           .inputs = {x, index},
           .outputs = {"row", "x"},
           .infer = infer_take,
           .gradient = take_gradient,
           .cost = row_cost<0>});
  ops.add({.name = "SetRow",
           .doc =
               "x with `row` in the place of x[index]; in place where nobody "
               "else needs x.",
           .inputs = {x, index, {"row"}},
           .outputs = {"y"},
           .infer = infer_put,
           .gradient = set_gradient,
           .cost = row_cost<0>});
  ops.add(
      {.name = "AddRow",
       .doc = "x with `row` added to x[index]; in place where nobody else "
              "needs x.",
       .inputs = {{"x", TypeSet::kNumber}, index, {"row", TypeSet::kNumber}},
       .outputs = {"y"},
       .infer = infer_put,
       .gradient = add_gradient,
       .cost = row_cost<1>});
  ops.add({.name = "ClearRow",
           .doc =
               "x with zeros in the place of x[index]; in place where nobody "
               "else needs x.",
           .inputs = {x, index},
           .outputs = {"y"},
           .infer = infer_clear,
           .gradient = clear_gradient,
           .cost = row_cost<0>});
}

TakenRow take_row(Value x, Value index) {
  const Value row = make("TakeRow", {x, index});
  return {row, row.node->output(1)};
}

Value set_row(Value x, Value index, Value row) {
  return make("SetRow", {x, index, row});
}

Value add_row(Value x, Value index, Value row) {
  return make("AddRow", {x, index, row});
}

Value clear_row(Value x, Value index) { return make("ClearRow", {x, index}); }

}  // namespace rondo
