#include "rondo/graph/ops/dataset.h"

#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

Status infer_get_next(InferContext& c) {
  const auto& types = c.attr<std::vector<DType>>("output_types");
  const auto& shapes = c.attr<std::vector<PartialShape>>("output_shapes");
  if (types.size() != shapes.size())
    return error(Code::kInvalidArgument, "{} output_types and {} output_shapes",
                 types.size(), shapes.size());
  for (size_t i = 0; i < types.size(); ++i) c.output(types[i], shapes[i]);
  return {};
}

Status infer_make(InferContext& c) {
  if (c.attr<std::string>("dataset").empty())
    return error(Code::kInvalidArgument, "the name of the data set is empty");
  return infer::nothing(c);
}

AttrSpec iterator_attr() {
  return {"iterator", std::string(), true,
          "under which name a session keeps where it is"};
}

}  // namespace

void register_dataset_ops(OpRegistry& ops) {
  ops.add({.name = "IteratorGetNext",
           .doc = "The components of the next element of a data set. Fails as "
                  "out of range at the end.",
           .outputs = {"components"},
           .attrs = {iterator_attr(),
                     {"dataset", std::string(), false,
                      "the data set, as it is attached to the graph, where the "
                      "iterator begins by itself; empty: MakeIterator has it"},
                     {"output_types", std::vector<DType>(), true,
                      "the element types of the components"},
                     {"output_shapes", std::vector<PartialShape>(), true,
                      "the shapes of the components"}},
           .infer = infer_get_next,
           .constant = true,
           .cost = cost::copied,
           .kind = OpKind::kStateful});
  ops.add({.name = "MakeIterator",
           .doc = "Begins an iterator at the start of a data set, wherever it "
                  "was before.",
           .attrs = {iterator_attr(),
                     {"dataset", std::string(), true,
                      "the data set, as it is attached to the graph"}},
           .infer = infer_make,
           .cost = cost::copied,
           .kind = OpKind::kStateful});
}

std::vector<Value> iterator_get_next(Graph& graph,
                                     const std::vector<TensorType>& types,
                                     IteratorOptions options) {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  for (const TensorType& type : types) {
    dtypes.push_back(type.dtype);
    shapes.push_back(type.shape);
  }
  Node& node = graph.add({.op = "IteratorGetNext",
                          .attrs = {{"iterator", std::move(options.iterator)},
                                    {"dataset", std::move(options.dataset)},
                                    {"output_types", std::move(dtypes)},
                                    {"output_shapes", std::move(shapes)}},
                          .name = std::move(options.name)});
  std::vector<Value> values;
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i)
    values.push_back(node.output(i));
  return values;
}

Node& make_iterator(Graph& graph, IteratorOptions options) {
  return graph.add({.op = "MakeIterator",
                    .attrs = {{"iterator", std::move(options.iterator)},
                              {"dataset", std::move(options.dataset)}},
                    .name = std::move(options.name)});
}

}  // namespace rondo
