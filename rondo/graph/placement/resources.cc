#include "rondo/graph/placement/resources.h"

#include <algorithm>

#include "rondo/graph/op.h"

namespace rondo {
namespace {

// The attributes that name a resource.
constexpr std::string_view kKinds[] = {"queue", "accumulator", "mutex",
                                       "iterator"};

// Stateful operations that keep nothing from step to step.
constexpr std::string_view kForgetful[] = {"Placeholder", "NewStack", "Await"};

// Operations of a user's library may have attributes of any kind.
const std::string* text_attr(const Node& node, std::string_view name) {
  const AttrValue* value = node.attrs().find(name);
  return value ? std::get_if<std::string>(value) : nullptr;
}

std::vector<ResourceUse> variables_of(const Node& node,
                                      const std::string& name) {
  std::vector<ResourceUse> uses;
  uses.push_back({.kind = "variable",
                  .name = name.empty() ? node.name() : name,
                  .owner = node.op().name == "Variable" &&
                           (name.empty() || name == node.name())});
  if (!node.attrs().has("slots")) return uses;
  const bool task_only = node.op().name == "AssignAll";
  for (const auto& slot : node.attrs().get<std::vector<std::string>>("slots"))
    uses.push_back({.kind = "variable", .name = slot, .task_only = task_only});
  return uses;
}

}  // namespace

std::vector<ResourceUse> resources_of_node(const Node& node) {
  if (node.op().kind != OpKind::kStateful) return {};
  if (const auto* name = text_attr(node, "variable"))
    return variables_of(node, *name);
  for (const std::string_view kind : kKinds)
    if (const auto* name = text_attr(node, kind))
      return {{.kind = std::string(kind), .name = *name}};
  // What a loop keeps for its way back.
  if (node.op().name == "StackWrite" || node.op().name == "StackRead")
    return {{.kind = "stack", .name = *text_attr(node, "name"), .kept = false}};
  if (std::ranges::find(kForgetful, node.op().name) != std::end(kForgetful))
    return {};
  // Such as a random operation, whose runs are counted under its name.
  return {{.kind = "node", .name = node.name(), .owner = true}};
}

std::string to_string(const ResourceUse& use) {
  return fmt::format("{} \"{}\"", use.kind, use.name);
}

double resource_bytes(const Node& node, const ResourceUse& use) {
  if (use.kind != "variable" || !node.attrs().has("dtype") ||
      !node.attrs().has("shape"))
    return 0;
  return bytes_of({node.attrs().get<DType>("dtype"),
                   node.attrs().get<PartialShape>("shape")});
}

}  // namespace rondo
