#include "rondo/graph/ops/parameters.h"

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/waiting_ops.h"

namespace rondo {
namespace {

using Names = std::vector<std::string>;

Status check_parameter(InferContext& c) {
  if (c.attr<std::string>("group").empty() ||
      c.attr<std::string>("key").empty())
    return error(Code::kInvalidArgument,
                 "the group or the key of the parameter has no name");
  return {};
}

Status infer_push_pull(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_parameter(c));
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 0, "learning_rate"));
  c.output(c.attr<DType>("dtype"), c.attr<PartialShape>("shape"));
  return {};
}

Status infer_push_pull_rows(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_parameter(c));
  RONDO_RETURN_IF_ERROR(c.want_rank(1, 1, "indices"));
  RONDO_RETURN_IF_ERROR(c.want_rank(2, 0, "learning_rate"));
  PartialShape rows = c.attr<PartialShape>("shape");
  if (rows.has_rank()) {
    if (rows.rank() == 0)
      return error(Code::kInvalidArgument, "a scalar has no rows");
    rows.set(0, kAny);
  }
  c.output(c.attr<DType>("dtype"), rows);
  c.output(DType::kI64, PartialShape::of_rank(1));
  return {};
}

Status infer_pull_slots(InferContext& c) {
  RONDO_RETURN_IF_ERROR(check_parameter(c));
  for (size_t k = 0; k < c.attr<Names>("slots").size(); ++k)
    c.output(c.attr<DType>("dtype"), c.attr<PartialShape>("shape"));
  return {};
}

Status infer_set_parameters(InferContext& c) {
  const size_t keys = c.attr<Names>("keys").size();
  if (c.attr<Ints>("by_rows").size() != keys ||
      c.attr<Ints>("tensors").size() != keys)
    return error(Code::kInvalidArgument,
                 "keys, by_rows and tensors are not of the same length");
  return {};
}

std::vector<AttrSpec> parameter_attrs() {
  return {{"group", std::string(), true, "the name of the ranks' group"},
          {"key", std::string(), true, "by which servers know the variable"},
          {"optimizer", std::vector<double>(), true,
           "what servers change it by: the numbers of a KvOptimizer"},
          {"slots", Names(), false, "variables for what the optimizer keeps"},
          {"powers", Names(), false, "variables of the powers of Adam's betas"},
          {"dtype", DType::kF32, true, "the type of the variable"},
          {"shape", PartialShape(), true, "the shape of the variable"}};
}

Attrs attrs_of(const ParameterOptions& options) {
  return {{"group", options.group},         {"key", options.key},
          {"optimizer", options.optimizer}, {"slots", options.slots},
          {"powers", options.powers},       {"dtype", options.dtype},
          {"shape", options.shape}};
}

}  // namespace

void register_parameter_ops(OpRegistry& ops) {
  ops.add({.name = "PushPull",
           .doc = "Sends a gradient to parameter servers; the new value of the "
                  "variable. Holds no thread while it waits for them.",
           .inputs = {{"gradient", TypeSet::kFloat, false, 0},
                      {"learning_rate", TypeSet::kFloat, false, 1}},
           .outputs = {"value"},
           .attrs = parameter_attrs(),
           .infer = infer_push_pull,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
  ops.add({.name = "PushPullRows",
           .doc = "Sends rows of a gradient to parameter servers; the rows of "
                  "the variable that anybody has changed since this rank's "
                  "last time, and which they are.",
           .inputs = {{"rows", TypeSet::kFloat, false, 0},
                      {"indices", TypeSet::kIndex, false, 0},
                      {"learning_rate", TypeSet::kFloat, false, 0}},
           .outputs = {"changed_rows", "changed_indices"},
           .attrs = parameter_attrs(),
           .infer = infer_push_pull_rows,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
  ops.add({.name = "PullSlots",
           .doc = "What the optimizer of parameter servers keeps for a "
                  "variable.",
           .inputs = {},
           .outputs = {"slots"},
           .attrs = parameter_attrs(),
           .infer = infer_pull_slots,
           .cost = cost::copied,
           .kind = OpKind::kStateful,
           .waits = true});
  ops.add(
      {.name = "SetParameters",
       .doc = "What rank 0 has becomes what parameter servers have: of each "
              "key the value, what the optimizer keeps, and the powers of "
              "Adam's betas.",
       .inputs = {{"tensors", TypeSet::kFloat, true, 0}},
       .outputs = {},
       .attrs = {{"group", std::string(), true, "the name of the ranks' group"},
                 {"sequence", int64_t{0}, true,
                  "its place among the exchanges of a step"},
                 {"optional", false, false,
                  "whether a step may leave it out, as all ranks then do"},
                 {"keys", Names(), true, "by which servers know the variables"},
                 {"by_rows", Ints(), true, "1 for each whose rows are pushed"},
                 {"tensors", Ints(), true, "how many belong to each key"},
                 {"optimizers", std::vector<double>(), true,
                  "of each key, one behind the other"}},
       .infer = infer_set_parameters,
       .cost = cost::copied,
       .kind = OpKind::kStateful,
       .waits = true});
}

Value push_pull(Value gradient, Value learning_rate,
                const ParameterOptions& options) {
  return make("PushPull", {gradient, learning_rate}, attrs_of(options));
}

Rows push_pull_rows(const Rows& gradient, Value learning_rate,
                    const ParameterOptions& options) {
  Node& node = gradient.values.graph().add(
      {.op = "PushPullRows",
       .inputs = {gradient.values, gradient.indices, learning_rate},
       .attrs = attrs_of(options)});
  return {node.output(0), node.output(1)};
}

std::vector<Value> pull_slots(const Node& push) {
  return array::outputs_of(push.graph().add(
      {.op = "PullSlots", .inputs = {}, .attrs = push.attrs()}));
}

Node& set_parameters(const std::vector<const Node*>& pushes,
                     const std::vector<Value>& tensors,
                     const ExchangeOptions& options) {
  Names keys;
  Ints by_rows, counts;
  std::vector<double> optimizers;
  for (const Node* push : pushes) {
    const Attrs& attrs = push->attrs();
    keys.push_back(attrs.get<std::string>("key"));
    by_rows.push_back(push->op().name == "PushPullRows");
    counts.push_back(static_cast<int64_t>(1 + attrs.get<Names>("slots").size() +
                                          attrs.get<Names>("powers").size()));
    const auto& numbers = attrs.get<std::vector<double>>("optimizer");
    optimizers.insert(optimizers.end(), numbers.begin(), numbers.end());
  }
  return tensors.at(0).graph().add({.op = "SetParameters",
                                    .inputs = tensors,
                                    .attrs = {{"group", options.group},
                                              {"sequence", options.sequence},
                                              {"keys", keys},
                                              {"by_rows", by_rows},
                                              {"tensors", counts},
                                              {"optimizers", optimizers}},
                                    .name = options.name});
}

}  // namespace rondo
