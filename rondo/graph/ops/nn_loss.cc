#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gradient_by_parts.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/nn.h"
#include "rondo/graph/ops/nn_parts.h"
#include "rondo/graph/ops/reduction.h"

namespace rondo {
namespace {

Status want_classes(const PartialShape& logits) {
  if (!logits.has_rank() || logits.rank() >= 1) return {};
  return error(Code::kInvalidArgument,
               "logits are a scalar, expected classes in the last axis");
}

PartialShape rows_of(const PartialShape& logits) {
  if (!logits.has_rank()) return {};
  const auto all = logits.extents();
  return PartialShape(Ints(all.begin(), all.end() - 1));
}

Status infer_softmax_loss(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_classes(c.shape(0)));
  auto shape = merge(c.shape(0), c.shape(1));
  if (!shape.ok())
    return error(Code::kInvalidArgument,
                 "logits have shape {}, labels {}; expected the same",
                 c.shape(0).to_string(), c.shape(1).to_string());
  c.output(c.dtype(0), rows_of(*shape));
  c.output(c.dtype(0), *shape);
  return {};
}

Status infer_sparse_loss(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_classes(c.shape(0)));
  auto rows = merge(rows_of(c.shape(0)), c.shape(1));
  if (!rows.ok())
    return error(Code::kInvalidArgument,
                 "logits have shape {}, labels {}; expected the shape of the "
                 "logits without the last axis",
                 c.shape(0).to_string(), c.shape(1).to_string());
  c.output(c.dtype(0), *rows);
  c.output(c.dtype(0), c.shape(0));
  return {};
}

Status infer_sigmoid_loss(InferContext& c) {
  auto shape = merge(c.shape(0), c.shape(1));
  if (!shape.ok())
    return error(Code::kInvalidArgument,
                 "logits have shape {}, labels {}; expected the same",
                 c.shape(0).to_string(), c.shape(1).to_string());
  c.output(c.dtype(0), *shape);
  return {};
}

Status infer_sigmoid_loss_grad(InferContext& c) {
  RONDO_RETURN_IF_ERROR(infer_sigmoid_loss(c));
  c.output(c.dtype(0), c.shape(0));
  return {};
}

// x with its rows multiplied by one factor each.
Value times_rows(Value x, Value factors) {
  return make("Mul",
              {x, make("ExpandDims", {factors}, {{"axis", int64_t{-1}}})});
}

std::vector<Gradient> softmax_loss_gradient(Node& node,
                                            std::span<const Value> grads) {
  const Value logits = node.input(0);
  Gradient by_logits, by_labels;
  if (grads[0]) {
    by_logits = times_rows(node.output(1), grads[0]);
    by_labels = times_rows(neg(log_softmax(logits)), grads[0]);
  }
  // The second output, softmax(logits) sum(labels) - labels, is used by the
  // gradient of the first; so this is the second derivative.
  if (const Value g = grads[1]) {
    const ReduceOptions row{{-1}, true};
    const Value p = softmax(logits);
    const Value labels = reduce_sum(node.input(1), row);
    by_logits = add_gradients(by_logits, make("SoftmaxGrad", {p, g * labels},
                                              {{"axis", int64_t{-1}}}));
    by_labels = add_gradients(by_labels, reduce_sum(g * p, row) - g);
  }
  return {by_logits, by_labels};
}

std::vector<Gradient> sparse_loss_gradient(Node& node,
                                           std::span<const Value> grads) {
  Gradient by_logits;
  if (grads[0]) by_logits = times_rows(node.output(1), grads[0]);
  if (grads[1])
    by_logits = add_gradients(
        by_logits, make("SoftmaxGrad", {softmax(node.input(0)), grads[1]},
                        {{"axis", int64_t{-1}}}));
  return {by_logits, {}};
}

std::vector<Gradient> sigmoid_loss_gradient(Node& node,
                                            std::span<const Value> grads) {
  Node& both =
      node.graph().add({.op = "SigmoidCrossEntropyWithLogitsGrad",
                        .inputs = {node.input(0), node.input(1), grads[0]}});
  return {both.output(0), both.output(1)};
}

std::vector<Gradient> sigmoid_loss_grad_gradient(Node& node,
                                                 std::span<const Value> grads) {
  return gradient_by_parts(node, grads, [](const std::vector<Value>& in) {
    const Value x = in[0], labels = in[1], g = in[2];
    return std::vector{(sigmoid(x) - labels) * g, neg(x * g)};
  });
}

}  // namespace

void register_loss_ops(OpRegistry& ops) {
  ops.add({.name = "SoftmaxCrossEntropyWithLogits",
           .doc = "The cross-entropy between softmax(logits) and labels, which "
                  "are distributions over the classes in the last axis: one "
                  "loss per row, and its gradient by the logits.",
           .inputs = {{"logits", TypeSet::kFloat}, {"labels", TypeSet::kFloat}},
           .outputs = {"loss", "backprop"},
           .infer = infer_softmax_loss,
           .gradient = softmax_loss_gradient,
           .cost = cost::per_input<0, cost::kFunction + 5>});
  ops.add({.name = "SparseSoftmaxCrossEntropyWithLogits",
           .doc = "The cross-entropy between softmax(logits) and one right "
                  "class per row: one loss per row, and its gradient by the "
                  "logits. A label that is no class is an error.",
           .inputs = {{"logits", TypeSet::kFloat, false, 0},
                      {"labels", TypeSet::kIndex, false, 0}},
           .outputs = {"loss", "backprop"},
           .infer = infer_sparse_loss,
           .gradient = sparse_loss_gradient,
           .cost = cost::per_input<0, cost::kFunction + 4>});
  ops.add({.name = "SigmoidCrossEntropyWithLogits",
           .doc = "For each element, the cross-entropy between sigmoid(logit) "
                  "and the probability that the label gives.",
           .inputs = {{"logits", TypeSet::kFloat}, {"labels", TypeSet::kFloat}},
           .outputs = {"loss"},
           .infer = infer_sigmoid_loss,
           .gradient = sigmoid_loss_gradient,
           .cost = cost::per_output<2 * cost::kFunction>});
  ops.add({.name = "SigmoidCrossEntropyWithLogitsGrad",
           .doc = "The gradients of SigmoidCrossEntropyWithLogits.",
           .inputs = {{"logits", TypeSet::kFloat},
                      {"labels", TypeSet::kFloat},
                      {"grad", TypeSet::kFloat}},
           .outputs = {"logits_grad", "labels_grad"},
           .infer = infer_sigmoid_loss_grad,
           .gradient = sigmoid_loss_grad_gradient,
           .cost = cost::per_output<cost::kFunction + 2>});
}

Value softmax_cross_entropy_with_logits(Value logits, Value labels) {
  return make("SoftmaxCrossEntropyWithLogits", {logits, labels});
}
Value sparse_softmax_cross_entropy_with_logits(Value logits, Value labels) {
  return make("SparseSoftmaxCrossEntropyWithLogits", {logits, labels});
}
Value sigmoid_cross_entropy_with_logits(Value logits, Value labels) {
  return make("SigmoidCrossEntropyWithLogits", {logits, labels});
}

}  // namespace rondo
