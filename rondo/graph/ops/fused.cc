// Operations that passes put in the place of several others.
#include <algorithm>

#include "rondo/graph/ops/conv.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/matrix_infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

std::vector<AttrSpec> with_activation(std::vector<AttrSpec> attrs) {
  attrs.push_back({"activation", std::string(), false,
                   "what the result goes through: Relu, LeakyRelu, Elu, Gelu, "
                   "GeluTanh, Sigmoid, Tanh, or nothing"});
  attrs.push_back({"alpha", 0.0, false, "as LeakyRelu and Elu have it"});
  return attrs;
}

// An operation's own attributes, which its fused form has too.
std::vector<AttrSpec> attrs_of(const OpRegistry& ops, std::string_view name) {
  return ops.find(name)->attrs;
}

Status want_f32_and_bias(const InferContext& c) {
  if (c.dtype(0) != DType::kF32)
    return error(Code::kInvalidArgument, "its elements are {}, expected f32",
                 name_of(c.dtype(0)));
  return c.want_rank(2, 1, "bias");
}

Status infer_conv(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_f32_and_bias(c));
  RONDO_ASSIGN_OR_RETURN(
      PartialShape y,
      conv_output_shape(c.shape(0), c.shape(1), c.attrs(), false));
  c.output(c.dtype(0), std::move(y));
  return {};
}

Status infer_matmul(InferContext& c) {
  RONDO_RETURN_IF_ERROR(want_f32_and_bias(c));
  return infer::matmul(c);
}

// As many passes over the result as the program has operations.
OpCost fused_elementwise_cost(const Node& node) {
  const auto& program = node.attrs().get<std::string>("program");
  const auto operations = 1 + std::count(program.begin(), program.end(), ';');
  return {
      static_cast<double>(operations) * cost::elements(node.outputs()[0].shape),
      cost::all_bytes(node)};
}

}  // namespace

void register_fused_ops(OpRegistry& ops) {
  ops.add({.name = "FusedMatMul",
           .doc = "The product of two matrices, plus a bias for each column, "
                  "through an activation. Sessions put it in the place of "
                  "MatMul, BiasAdd and the activation.",
           .inputs = {{"a", TypeSet::kFloat},
                      {"b", TypeSet::kFloat},
                      {"bias", TypeSet::kFloat}},
           .outputs = {"y"},
           .attrs = with_activation(attrs_of(ops, "MatMul")),
           .infer = infer_matmul,
           .cost = ops.find("MatMul")->cost});
  ops.add({.name = "FusedConv2D",
           .doc = "A convolution, plus a bias for each channel, through an "
                  "activation. Sessions put it in the place of Conv2D, BiasAdd "
                  "and the activation.",
           .inputs = {{"x", TypeSet::kFloat},
                      {"filter", TypeSet::kFloat},
                      {"bias", TypeSet::kFloat}},
           .outputs = {"y"},
           .attrs = with_activation(attrs_of(ops, "Conv2D")),
           .infer = infer_conv,
           .cost = ops.find("Conv2D")->cost});
  ops.add({.name = "FusedElementwise",
           .doc = "Several element-wise operations in one pass over memory. "
                  "Sessions put it in their place.",
           .inputs = {{"inputs", TypeSet::kFloat, true}},
           .outputs = {"y"},
           .attrs = {{"program", std::string(), true,
                      "operations with their operands, one after the other, "
                      "such as \"Mul x0 x1; Relu t0; Add t1 x2\": x0 is the "
                      "first input, t0 what the first operation gave; the last "
                      "one's is the result"}},
           .infer = infer::broadcast_inputs,
           .cost = fused_elementwise_cost});
}

}  // namespace rondo
