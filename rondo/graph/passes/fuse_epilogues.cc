// MatMul or Conv2D with the bias and the activation behind it, as one node.
#include <array>

#include "rondo/graph/passes/passes.h"
#include "rondo/graph/passes/redirect.h"
#include "rondo/graph/passes/uses.h"

namespace rondo {
namespace {

constexpr std::array<std::string_view, 6> kActivations = {
    "Relu", "LeakyRelu", "Elu", "Gelu", "Sigmoid", "Tanh"};

bool is_vector(const Value& value) {
  return value.shape().has_rank() && value.shape().rank() == 1;
}

// Whether `node` adds a bias for each channel to `x`, which a product or a
// convolution made.
bool adds_bias(const Node& node, const Value& x) {
  const std::string_view op = node.op().name;
  const bool product = x.node->op().name == "MatMul";
  if (op == "BiasAdd") {
    const auto& format = node.attrs().get<std::string>("data_format");
    return node.input(0) == x &&
           (product
                ? format == "NHWC"
                : format == x.node->attrs().get<std::string>("data_format"));
  }
  // Of a vector that has an element for each column; a vector of one would be
  // broadcast, and is none of ours.
  return op == "Add" && product && node.input(0) == x &&
         is_vector(node.input(1)) && x.shape().has_rank() &&
         x.shape()[1] != kAny && node.input(1).shape()[0] == x.shape()[1];
}

// How an activation is written in the attribute of that name.
std::string activation_of(const Node& node) {
  const std::string_view op = node.op().name;
  if (op == "Gelu" && node.attrs().get<bool>("approximate")) return "GeluTanh";
  return std::string(op);
}

Value fuse(Subgraph& part, const Node& root, const Node& bias,
           const Node* activation) {
  Attrs attrs = root.attrs();
  if (activation) {
    attrs.set("activation", activation_of(*activation));
    if (const AttrValue* alpha = activation->attrs().find("alpha"))
      attrs.set("alpha", *alpha);
  }
  const Node& last = activation ? *activation : bias;
  Node& made = part.graph->add(
      {.op = root.op().name == "MatMul" ? "FusedMatMul" : "FusedConv2D",
       .inputs = {root.input(0), root.input(1), bias.input(1)},
       .attrs = std::move(attrs),
       .name = "fused/" + last.name(),
       .origin = root.origin()});
  made.set_device(root.device());
  return made.output();
}

}  // namespace

void fuse_epilogues(Subgraph& part) {
  const Uses uses(part);
  Redirect redirect;
  for (Node* root : uses.order()) {
    redirect.redirect_inputs(*root);
    const std::string_view op = root->op().name;
    if ((op != "MatMul" && op != "Conv2D") ||
        root->outputs()[0].dtype != DType::kF32)
      continue;
    Node* bias = uses.only_taker(*root);
    if (!bias || !adds_bias(*bias, root->output()) || uses.bound(*bias))
      continue;
    Node* activation = uses.only_taker(*bias);
    if (activation && (uses.bound(*activation) ||
                       std::ranges::find(kActivations, activation->op().name) ==
                           kActivations.end()))
      activation = nullptr;
    redirect.add((activation ? activation : bias)->output(),
                 fuse(part, *root, *bias, activation));
  }
  redirect.apply(part);
}

}  // namespace rondo
