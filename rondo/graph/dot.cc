#include "rondo/graph/dot.h"

#include <map>

namespace rondo {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

// A name scope with what is directly in it.
struct Scope {
  std::map<std::string, Scope> inner;
  std::vector<const Node*> nodes;
};

void add(Scope& root, const Node& node) {
  Scope* scope = &root;
  size_t from = 0;
  for (size_t at = node.name().find('/'); at != std::string::npos;
       from = at + 1, at = node.name().find('/', from))
    scope = &scope->inner[node.name().substr(from, at - from)];
  scope->nodes.push_back(&node);
}

void write_node(const Node& node, const std::string& indent, std::string& out) {
  const std::string_view name = node.name();
  const std::string_view last =
      name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  std::string label(node.op().name);
  if (label != last) label = fmt::format("{}\n{}", last, label);
  out += fmt::format("{}n{} [label={}, tooltip={}{}];\n", indent, node.id(),
                     quoted(label), quoted(name),
                     node.op().kind == OpKind::kStateful
                         ? ", style=\"rounded,filled\", fillcolor=\"#ffe8c0\""
                         : "");
}

void write_scope(const Scope& scope, const std::string& path, int depth,
                 std::string& out) {
  const std::string indent(static_cast<size_t>(2 * depth), ' ');
  for (const Node* node : scope.nodes) write_node(*node, indent, out);
  for (const auto& [name, inner] : scope.inner) {
    const std::string inner_path = path + name + "/";
    out += fmt::format("{}subgraph {} {{\n{}  label={};\n", indent,
                       quoted("cluster_" + inner_path), indent, quoted(name));
    write_scope(inner, inner_path, depth + 1, out);
    out += indent + "}\n";
  }
}

}  // namespace

std::string to_dot(const Graph& graph) {
  Scope root;
  for (const auto& node : graph.nodes()) add(root, *node);
  std::string out =
      "digraph rondo {\n"
      "  rankdir=BT;\n"
      "  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  write_scope(root, "", 1, out);
  for (const auto& node : graph.nodes()) {
    for (const Value& input : node->inputs())
      if (input)
        out += fmt::format("  n{} -> n{} [label={}];\n", input.node->id(),
                           node->id(),
                           quoted(fmt::format("{}{}", name_of(input.dtype()),
                                              input.shape().to_string())));
    for (const Node* before : node->control_inputs())
      out += fmt::format("  n{} -> n{} [style=dashed];\n", before->id(),
                         node->id());
  }
  return out + "}\n";
}

}  // namespace rondo
