#include "rondo/graph/ops/exchange.h"
#include "rondo/graph/ops/costs.h"

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/waiting_ops.h"

namespace rondo {
namespace {

Status check_exchange(InferContext& c) {
  if (c.attr<std::string>("group").empty())
    return error(Code::kInvalidArgument, "the group has no name");
  if (c.inputs() == 0)
    return error(Code::kInvalidArgument, "there is nothing to exchange");
  return {};
}

Status check_wire(InferContext& c) {
  const DType wire = c.attr<DType>("wire");
  const bool narrow = wire == DType::kBF16 && c.dtype(0) == DType::kF32;
  if (wire != c.dtype(0) && !narrow)
    return error(Code::kInvalidArgument,
                 "{} cannot travel as {}: expected {}, or bf16 for f32",
                 name_of(c.dtype(0)), name_of(wire), name_of(c.dtype(0)));
  return {};
}

Status infer_all_reduce(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_exchange(c));
  RONDO_RETURN_IF_ERROR(check_wire(c));
  for (int i = 0; i < c.inputs(); ++i) c.output(c.dtype(i), c.shape(i));
  return {};
}

PartialShape any_rows(PartialShape shape) {
  if (shape.has_rank()) shape.set(0, kAny);
  return shape;
}

Status check_has_rows(const PartialShape& shape) {
  if (shape.has_rank() && shape.rank() == 0)
    return error(Code::kInvalidArgument, "a scalar has no rows");
  return {};
}

Status infer_all_gather(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_exchange(c));
  RONDO_RETURN_IF_ERROR(check_wire(c));
  RONDO_RETURN_IF_ERROR(check_has_rows(c.shape(0)));
  c.output(c.dtype(0), any_rows(c.shape(0)));
  return {};
}

Status infer_all_gather_rows(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_exchange(c));
  return infer_all_rows(c);
}

Status infer_broadcast(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_exchange(c));
  if (c.attr<int64_t>("root") < 0)
    return error(Code::kInvalidArgument, "root is {}, expected a rank",
                 c.attr<int64_t>("root"));
  for (int i = 0; i < c.inputs(); ++i) c.output(c.dtype(i), c.shape(i));
  return {};
}

// A node computes one addition per element; where it spends its time is the
// network, of which the graph knows nothing.
OpCost reduce_cost(const Node& node) {
  OpCost cost;
  for (const TensorType& type : node.outputs()) {
    cost.bytes += 2 * bytes_of(type);
    cost.flops += bytes_of(type) / static_cast<double>(size_of(type.dtype));
  }
  return cost;
}

std::vector<AttrSpec> exchange_attrs() {
  return {
      {"group", std::string(), true, "the name of the ranks' group"},
      {"sequence", int64_t{0}, true, "its place among the exchanges of a step"},
      {"optional", false, false,
       "whether a step may leave it out, as all ranks then do"}};
}

Attrs attrs_of(const ExchangeOptions& options) {
  return {{"group", options.group},
          {"sequence", options.sequence},
          {"optional", options.optional}};
}

Graph& graph_of(const std::vector<Value>& values) {
  if (values.empty())
    throw Error(Code::kInvalidArgument, "there is nothing to exchange");
  return values[0].graph();
}

}  // namespace

Status infer_all_rows(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "indices"));
  const PartialShape& values = c.shape(0);
  const PartialShape& indices = c.shape(1);
  RONDO_RETURN_IF_ERROR(check_has_rows(values));
  if (values.has_rank() && indices.has_rank() && values[0] != kAny &&
      indices[0] != kAny && values[0] != indices[0])
    return error(Code::kInvalidArgument, "there are {} rows and {} indices",
                 values[0], indices[0]);
  c.output(c.dtype(0), any_rows(values));
  c.output(c.dtype(1), PartialShape::of_rank(1));
  return {};
}

void register_exchange_ops(OpRegistry& ops) {
  const AttrSpec wire{"wire", DType::kF32, false,
                      "the type in which the tensors travel"};
  auto reduce_attrs = exchange_attrs();
  reduce_attrs.push_back({"average", true, false, "the mean, or the sum"});
  reduce_attrs.push_back(wire);
  reduce_attrs.push_back(
      {"unit_bytes", int64_t{0}, false,
       "its size, where it may travel together with its neighbours"});
  reduce_attrs.push_back(
      {"unit_family", int64_t{0}, false,
       "which neighbours those may be: none of them needs another's result"});
  ops.add({.name = "AllReduce",
           .doc = "Tensors of one type, a bucket, each reduced over all ranks "
                  "of a group. Holds no thread while it waits for the others.",
           .inputs = {{"values", TypeSet::kNumber, true}},
           .outputs = {"reduced"},
           .attrs = reduce_attrs,
           .infer = infer_all_reduce,
           .cost = reduce_cost,
           .kind = OpKind::kStateful,
           .waits = true});
  auto gather_attrs = exchange_attrs();
  gather_attrs.push_back(wire);
  ops.add({.name = "AllGather",
           .doc = "A tensor of all ranks of a group, one rank's rows behind "
                  "the other's; every rank has as many.",
           .inputs = {{"rows", TypeSet::kNumber}},
           .outputs = {"all_rows"},
           .attrs = gather_attrs,
           .infer = infer_all_gather,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
  ops.add({.name = "AllGatherRows",
           .doc = "Rows of a tensor and their indices, from all ranks of a "
                  "group, one rank's behind the other's: a sparse gradient.",
           .inputs = {{"values", TypeSet::kNumber, false, 0},
                      {"indices", TypeSet::kIndex, false, 0}},
           .outputs = {"all_values", "all_indices"},
           .attrs = exchange_attrs(),
           .infer = infer_all_gather_rows,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
  auto broadcast_attrs = exchange_attrs();
  broadcast_attrs.push_back(
      {"root", int64_t{0}, false, "the rank whose tensors all get"});
  ops.add({.name = "Broadcast",
           .doc = "What tensors are on one rank of a group, on all of them.",
           .inputs = {{"values", TypeSet::kAnyType, true, 0}},
           .outputs = {"same_values"},
           .attrs = broadcast_attrs,
           .infer = infer_broadcast,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
}

std::vector<Value> all_reduce(const std::vector<Value>& values,
                              const ExchangeOptions& options, bool average,
                              DType wire) {
  Attrs attrs = attrs_of(options);
  attrs.set("average", average);
  if (options.unit_bytes > 0) {
    attrs.set("unit_bytes", options.unit_bytes);
    attrs.set("unit_family", options.unit_family);
  }
  attrs.set("wire", wire);
  return array::outputs_of(graph_of(values).add({.op = "AllReduce",
                                                 .inputs = values,
                                                 .attrs = std::move(attrs),
                                                 .name = options.name}));
}

Value all_gather(Value rows, const ExchangeOptions& options, DType wire) {
  Attrs attrs = attrs_of(options);
  attrs.set("wire", wire);
  return graph_of({rows})
      .add({.op = "AllGather",
            .inputs = {rows},
            .attrs = std::move(attrs),
            .name = options.name})
      .output();
}

Rows all_gather_rows(const Rows& rows, const ExchangeOptions& options) {
  Node& node = graph_of({rows.values})
                   .add({.op = "AllGatherRows",
                         .inputs = {rows.values, rows.indices},
                         .attrs = attrs_of(options),
                         .name = options.name});
  return {node.output(0), node.output(1)};
}

std::vector<Value> broadcast(const std::vector<Value>& values,
                             const ExchangeOptions& options, int64_t root) {
  Attrs attrs = attrs_of(options);
  attrs.set("root", root);
  return array::outputs_of(graph_of(values).add({.op = "Broadcast",
                                                 .inputs = values,
                                                 .attrs = std::move(attrs),
                                                 .name = options.name}));
}

}  // namespace rondo
