#include "rondo/graph/check_node.h"

#include <algorithm>

namespace rondo {
namespace {

std::string shapes_of(const Node& node) {
  std::string text;
  for (const Value& input : node.inputs())
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ",
                        name_of(input.dtype()), input.shape().to_string());
  return text;
}

Status check_attrs(const OpDef& op, Attrs& attrs) {
  for (const Attrs::Item& item : attrs.items()) {
    const std::string& name = item.first;
    const AttrValue& value = item.second;
    const auto spec =
        std::find_if(op.attrs.begin(), op.attrs.end(),
                     [&](const AttrSpec& s) { return s.name == name; });
    if (spec == op.attrs.end())
      return error(Code::kInvalidArgument, "it has no attribute \"{}\"", name);
    if (spec->value.index() != value.index())
      return error(Code::kInvalidArgument,
                   "attribute \"{}\" is of kind {}, expected {}", name,
                   kind_name(value.index()), kind_name(spec->value.index()));
  }
  for (const AttrSpec& spec : op.attrs) {
    if (attrs.has(spec.name)) continue;
    if (spec.required)
      return error(Code::kInvalidArgument, "attribute \"{}\" is missing",
                   spec.name);
    attrs.set(std::string(spec.name), spec.value);
  }
  return {};
}

const InputSpec* spec_of(const OpDef& op, size_t i) {
  if (i < op.inputs.size()) return &op.inputs[i];
  return !op.inputs.empty() && op.inputs.back().list ? &op.inputs.back()
                                                     : nullptr;
}

Status check_inputs(const Graph& graph, const Node& node) {
  const OpDef& op = node.op();
  const bool list = !op.inputs.empty() && op.inputs.back().list;
  const size_t least = op.inputs.size() - (list ? 1 : 0);
  const auto& inputs = node.inputs();
  if (inputs.size() < least || (!list && inputs.size() > least))
    return error(Code::kInvalidArgument, "it takes {}{} inputs, not {}",
                 list ? "at least " : "", least, inputs.size());
  std::vector<const Value*> first_of_group;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& spec = *spec_of(op, i);
    const Value& input = inputs[i];
    if (!input)
      return error(Code::kInvalidArgument, "input {} ({}) is no value", i,
                   spec.name);
    if (&input.graph() != &graph)
      return error(Code::kInvalidArgument,
                   "input {} ({}), \"{}\", is of another graph", i, spec.name,
                   input.name());
    if (!contains(spec.types, input.dtype()))
      return error(Code::kInvalidArgument,
                   "input {} ({}) has type {}, expected {}", i, spec.name,
                   name_of(input.dtype()), name_of(spec.types));
    if (spec.type_group == 0) continue;
    const auto group = static_cast<size_t>(spec.type_group);
    if (first_of_group.size() <= group) first_of_group.resize(group + 1);
    const Value*& first = first_of_group[group];
    if (first && first->dtype() != input.dtype())
      return error(
          Code::kInvalidArgument,
          "its inputs differ in type: {} (\"{}\") and {} (\"{}\"); use "
          "cast",
          name_of(first->dtype()), first->name(), name_of(input.dtype()),
          input.name());
    if (!first) first = &input;
  }
  return {};
}

}  // namespace

Result<std::vector<TensorType>> check_node(const Graph& graph, const Node& node,
                                           Attrs& attrs) {
  RONDO_RETURN_IF_ERROR(check_inputs(graph, node));
  RONDO_RETURN_IF_ERROR(check_attrs(node.op(), attrs));
  InferContext context(node.inputs(), attrs);
  if (Status status = node.op().infer(context); !status.ok())
    return Status(status.code(),
                  node.inputs().empty()
                      ? status.message()
                      : fmt::format("{} (inputs: {})", status.message(),
                                    shapes_of(node)));
  return context.take_outputs();
}

}  // namespace rondo
