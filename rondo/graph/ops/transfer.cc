#include "rondo/graph/ops/transfer.h"

#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

std::vector<AttrSpec> transfer_attrs() {
  return {{"tensor_name", std::string(), true, "what the tensor is called"},
          {"send_device", std::string(), true, "where it comes from"},
          {"recv_device", std::string(), true, "where it goes"},
          {"wire_dtype", DType::kF32, true,
           "as what it travels: its own type, or bf16 for f32, which loses "
           "the last 16 bits"}};
}

Status check_wire(InferContext& c, DType dtype) {
  const DType wire = c.attr<DType>("wire_dtype");
  if (wire == dtype || (wire == DType::kBF16 && dtype == DType::kF32))
    return {};
  return error(Code::kInvalidArgument,
               "wire_dtype is {}: elements of {} travel as {}{}", name_of(wire),
               name_of(dtype), name_of(dtype),
               dtype == DType::kF32 ? " or bf16" : "");
}

Status infer_send(InferContext& c) { return check_wire(c, c.dtype(0)); }

Status infer_recv(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_wire(c, c.attr<DType>("dtype")));
  c.output(c.attr<DType>("dtype"), c.attr<PartialShape>("shape"));
  return {};
}

Attrs attrs_of(const TensorTransfer& transfer) {
  return {{"tensor_name", transfer.tensor},
          {"send_device", transfer.from},
          {"recv_device", transfer.to},
          {"wire_dtype", transfer.wire}};
}

}  // namespace

void register_transfer_ops(OpRegistry& ops) {
  ops.add({.name = "Send",
           .doc = "Hands a tensor to the Recv of the same name on another "
                  "device, without waiting for it. A dead tensor is sent as "
                  "such. Sessions put it where a graph is cut.",
           .inputs = {{"tensor"}},
           .attrs = transfer_attrs(),
           .infer = infer_send,
           .constant = true,
           .cost = cost::copied,
           .kind = OpKind::kStateful});
  std::vector<AttrSpec> attrs = transfer_attrs();
  attrs.push_back({"dtype", DType::kF32, true, "the tensor's element type"});
  attrs.push_back(
      {"shape", PartialShape(), false, "what is known of its shape"});
  ops.add({.name = "Recv",
           .doc = "The tensor that the Send of the same name on another device "
                  "hands over in this step; dead where that was.",
           .outputs = {"tensor"},
           .attrs = std::move(attrs),
           .infer = infer_recv,
           .constant = true,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
}

TensorTransfer TensorTransfer::of(const Node& node) {
  const Attrs& a = node.attrs();
  return {
      .tensor = a.get<std::string>("tensor_name"),
      .from = a.get<std::string>("send_device"),
      .to = a.get<std::string>("recv_device"),
      .dtype = is_send(node) ? node.input(0).dtype() : a.get<DType>("dtype"),
      .wire = a.get<DType>("wire_dtype")};
}

Result<TensorTransfer> TensorTransfer::parse(std::string_view key) {
  const size_t first = key.find(';');
  const size_t second =
      first == std::string_view::npos ? first : key.find(';', first + 1);
  if (second == std::string_view::npos)
    return error(Code::kInvalidArgument,
                 "\"{}\" names no tensor of a step: expected \"from;to;name\"",
                 key);
  TensorTransfer transfer;
  transfer.from = key.substr(0, first);
  transfer.to = key.substr(first + 1, second - first - 1);
  transfer.tensor = key.substr(second + 1);
  return transfer;
}

Node& send(Value value, const TensorTransfer& transfer, std::string name) {
  Node& node = value.graph().add({.op = "Send",
                                  .inputs = {value},
                                  .attrs = attrs_of(transfer),
                                  .name = std::move(name)});
  node.set_device(transfer.from);
  return node;
}

Value recv(Graph& graph, const PartialShape& shape,
           const TensorTransfer& transfer, std::string name) {
  Attrs attrs = attrs_of(transfer);
  attrs.set("dtype", transfer.dtype);
  attrs.set("shape", shape);
  Node& node = graph.add(
      {.op = "Recv", .attrs = std::move(attrs), .name = std::move(name)});
  node.set_device(transfer.to);
  return node.output();
}

bool is_send(const Node& node) { return node.op().name == "Send"; }
bool is_recv(const Node& node) { return node.op().name == "Recv"; }

}  // namespace rondo
