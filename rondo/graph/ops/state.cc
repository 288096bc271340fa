#include "rondo/graph/ops/state.h"

#include <set>

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

Status infer_variable(InferContext& c) {
  c.output(c.attr<DType>("dtype"), c.attr<PartialShape>("shape"));
  return {};
}

Status infer_bool(InferContext& c) {
  c.output(DType::kBool, PartialShape::scalar());
  return {};
}

// Of the variable's own type and shape, which the node knows by attributes.
Status infer_assign(InferContext& c) {
  const DType dtype = c.attr<DType>("dtype");
  if (c.dtype(0) != dtype)
    return error(
        Code::kInvalidArgument, "the variable \"{}\" has type {}, the value {}",
        c.attr<std::string>("variable"), name_of(dtype), name_of(c.dtype(0)));
  auto shape = merge(c.attr<PartialShape>("shape"), c.shape(0));
  if (!shape.ok())
    return error(Code::kInvalidArgument,
                 "the variable \"{}\" has shape {}, the value {}",
                 c.attr<std::string>("variable"),
                 c.attr<PartialShape>("shape").to_string(),
                 c.shape(0).to_string());
  c.output(dtype, *shape);
  return {};
}

// Value i is for variable i, of its type and a shape that it can have.
Status infer_assign_all(InferContext& c) {
  const auto& dtypes = c.attr<std::vector<DType>>("dtypes");
  const auto& shapes = c.attr<std::vector<PartialShape>>("shapes");
  const auto& others = c.attr<std::vector<std::string>>("slots");
  const auto n = static_cast<size_t>(c.inputs());
  if (dtypes.size() != n || shapes.size() != n || others.size() + 1 != n)
    return error(Code::kInvalidArgument,
                 "there are {} values, {} variables, {} types and {} shapes", n,
                 others.size() + 1, dtypes.size(), shapes.size());
  std::set<std::string_view> seen;
  for (size_t i = 0; i < n; ++i) {
    const std::string& name =
        i == 0 ? c.attr<std::string>("variable") : others[i - 1];
    if (!seen.insert(name).second)
      return error(Code::kInvalidArgument,
                   "the variable \"{}\" is to be set twice", name);
    const int at = static_cast<int>(i);
    if (c.dtype(at) == dtypes[i] && c.shape(at).compatible(shapes[i])) continue;
    return error(Code::kInvalidArgument,
                 "the variable \"{}\" is {}{}, the value {}{}", name,
                 name_of(dtypes[i]), shapes[i].to_string(),
                 name_of(c.dtype(at)), c.shape(at).to_string());
  }
  return {};
}

// indices of any rank, rows of the shape indices + the variable's but for its
// first extent.
Status infer_scatter(InferContext& c) {
  const PartialShape& shape = c.attr<PartialShape>("shape");
  if (c.dtype(1) != c.attr<DType>("dtype"))
    return error(Code::kInvalidArgument,
                 "the variable \"{}\" has type {}, the rows {}",
                 c.attr<std::string>("variable"),
                 name_of(c.attr<DType>("dtype")), name_of(c.dtype(1)));
  if (shape.has_rank() && c.shape(0).has_rank() && c.shape(1).has_rank()) {
    if (shape.rank() == 0)
      return error(Code::kInvalidArgument, "the variable \"{}\" is a scalar",
                   c.attr<std::string>("variable"));
    Ints wanted(c.shape(0).extents().begin(), c.shape(0).extents().end());
    wanted.insert(wanted.end(), shape.extents().begin() + 1,
                  shape.extents().end());
    const PartialShape expected(wanted);
    if (!expected.compatible(c.shape(1)))
      return error(Code::kInvalidArgument,
                   "the rows have shape {}, expected {}",
                   c.shape(1).to_string(), expected.to_string());
  }
  c.output(c.attr<DType>("dtype"), shape);
  return {};
}

std::vector<AttrSpec> variable_attrs() {
  return {{"variable", std::string(), false,
           "the variable's name; empty: this node's"},
          {"dtype", DType::kF32, false, "its element type"},
          {"shape", PartialShape(), false, "its shape"},
          {"container", std::string(), false, "where its worker keeps it"}};
}

// What every node that reads or changes a variable carries.
Attrs attrs_of(Value variable) {
  return {{"variable", variable_name(variable)},
          {"dtype", variable.dtype()},
          {"shape", variable.shape()},
          {"container", container_of(variable)}};
}

void add_change(OpRegistry& ops, std::string_view name, std::string_view doc,
                CostFn cost) {
  ops.add({.name = name,
           .doc = doc,
           .inputs = {{"value"}},
           .outputs = {"new_value"},
           .attrs = variable_attrs(),
           .infer = infer_assign,
           .cost = cost,
           .kind = OpKind::kStateful});
}

void add_scatter(OpRegistry& ops, std::string_view name, std::string_view doc,
                 CostFn cost) {
  ops.add({.name = name,
           .doc = doc,
           .inputs = {{"indices", TypeSet::kIndex, false, 0},
                      {"rows", TypeSet::kAnyType, false, 0}},
           .outputs = {"new_value"},
           .attrs = variable_attrs(),
           .infer = infer_scatter,
           .cost = cost,
           .kind = OpKind::kStateful});
}

Value change(std::string_view op, Value variable, std::vector<Value> inputs,
             std::string name = {}) {
  return make(op, std::move(inputs), attrs_of(variable), std::move(name));
}

}  // namespace

void register_state_ops(OpRegistry& ops) {
  ops.add({.name = "Variable",
           .doc = "The value of a variable.",
           .outputs = {"value"},
           .attrs = variable_attrs(),
           .infer = infer_variable,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "IsInitialized",
           .doc = "Whether a variable has a value.",
           .outputs = {"initialized"},
           .attrs = variable_attrs(),
           .infer = infer_bool,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  add_change(ops, "Assign", "Sets a variable; gives the new value.",
             cost::copied);
  ops.add(
      {.name = "AssignAll",
       .doc = "Sets several variables at once: another run, or one that is "
              "cancelled, sees all changed or none.",
       .inputs = {{"values", TypeSet::kAnyType, true, 0}},
       .attrs =
           {{"variable", std::string(), true, "the first variable"},
            {"slots", std::vector<std::string>(), false, "the other variables"},
            {"dtypes", std::vector<DType>(), true, "the element type of each"},
            {"shapes", std::vector<PartialShape>(), true, "the shape of each"},
            {"container", std::string(), false,
             "where their worker keeps "
             "them"}},
       .infer = infer_assign_all,
       .constant = true,
       .cost = cost::copied,
       .kind = OpKind::kStateful});
  add_change(ops, "AssignAdd", "Adds to a variable; gives the new value.",
             cost::changed<0, 1>);
  add_change(ops, "AssignSub",
             "Subtracts from a variable; gives the new value.",
             cost::changed<0, 1>);
  add_scatter(ops, "ScatterUpdate", "Sets rows of a variable.",
              cost::changed<1, 0>);
  add_scatter(ops, "ScatterAdd", "Adds to rows of a variable.",
              cost::changed<1, 1>);
}

Value variable(Graph& graph, Value initial, VariableOptions options) {
  if (!initial)
    throw Error(Code::kInvalidArgument, "variable: its initial value is none");
  Node& node =
      graph.add({.op = "Variable",
                 .attrs = {{"dtype", initial.dtype()},
                           {"shape", initial.shape()},
                           {"container", std::move(options.container)}},
                 .name = std::move(options.name)});
  Value value = node.output();
  const Value set =
      change("Assign", value, {initial},
             node.name().substr(graph.name_scope().size()) + "/Assign");
  graph.collection(kVariables).push_back(value);
  if (options.trainable) graph.collection(kTrainable).push_back(value);
  graph.collection(kInitializers).push_back(set);
  return value;
}

const std::string& variable_name(Value variable) {
  if (!variable || variable.node->op().name != "Variable")
    throw Error(Code::kInvalidArgument,
                variable ? fmt::format("{} is not a variable",
                                       variable.node->describe())
                         : "no value where a variable is wanted");
  const auto& name = variable.node->attrs().get<std::string>("variable");
  return name.empty() ? variable.node->name() : name;
}

const std::string& container_of(Value variable) {
  variable_name(variable);  // throws where it is none
  return variable.node->attrs().get<std::string>("container");
}

Value read_variable(Value variable) {
  return variable.graph()
      .add({.op = "Variable", .attrs = attrs_of(variable), .name = "read"})
      .output();
}

Value initialized_value(Value variable) {
  Graph& graph = variable.graph();
  for (const Value& set : graph.collection(kInitializers))
    if (set.node->attrs().get<std::string>("variable") ==
        variable_name(variable)) {
      const ControlScope after(graph, {set.node});
      return read_variable(variable);
    }
  throw Error(Code::kInvalidArgument, fmt::format("{} has no initial value",
                                                  variable.node->describe()));
}

Value is_initialized(Value variable) {
  return variable.graph()
      .add({.op = "IsInitialized", .attrs = attrs_of(variable)})
      .output();
}

Value assign(Value variable, Value value) {
  return change("Assign", variable, {value});
}
Node& assign_all(const std::vector<Value>& variables,
                 const std::vector<Value>& values) {
  if (variables.empty())
    throw Error(Code::kInvalidArgument, "assign_all: there are no variables");
  std::vector<std::string> others;
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  for (const Value& variable : variables) {
    others.push_back(variable_name(variable));
    dtypes.push_back(variable.dtype());
    shapes.push_back(variable.shape());
    if (container_of(variable) != container_of(variables[0]))
      throw Error(
          Code::kInvalidArgument,
          fmt::format("assign_all: \"{}\" and \"{}\" are in different "
                      "containers",
                      variable_name(variables[0]), variable_name(variable)));
  }
  others.erase(others.begin());
  return variables[0].graph().add(
      {.op = "AssignAll",
       .inputs = values,
       .attrs = {{"variable", variable_name(variables[0])},
                 {"slots", std::move(others)},
                 {"dtypes", std::move(dtypes)},
                 {"shapes", std::move(shapes)},
                 {"container", container_of(variables[0])}}});
}
Value assign_add(Value variable, Value value) {
  return change("AssignAdd", variable, {value});
}
Value assign_sub(Value variable, Value value) {
  return change("AssignSub", variable, {value});
}
Value scatter_update(Value variable, Value indices, Value rows) {
  return change("ScatterUpdate", variable, {indices, rows});
}
Value scatter_add(Value variable, Value indices, Value rows) {
  return change("ScatterAdd", variable, {indices, rows});
}

Node& initializer(Graph& graph) {
  std::vector<Node*> nodes;
  for (const Value& set : graph.collection(kInitializers))
    nodes.push_back(set.node);
  return group(graph, nodes, "init");
}

}  // namespace rondo
