#include "rondo/graph/graph_def.h"

#include <algorithm>
#include <set>

#include "rondo/graph/op_registry.h"

namespace rondo {
namespace {

constexpr int kFormat = 1;
// Attributes that are there for those who look at the graph.
constexpr std::string_view kShapes = "_output_shapes";
// TensorFlow's, for colocated_with(): a list of "loc:@name".
constexpr std::string_view kClass = "_class";
constexpr std::string_view kClassPrefix = "loc:@";
// Attributes that name what nodes share: state of a session, and loops.
constexpr std::string_view kShared[] = {"variable",  "slots",    "queue",
                                        "mutex",     "iterator", "accumulator",
                                        "frame_name"};
// Attributes that name what is attached to a graph.
constexpr std::string_view kAttached[] = {"function", "dataset"};

void node_to_message(const Node& node, const ConstantsOut& constants,
                     proto::NodeDef& message) {
  message.set_name(node.name());
  message.set_op(std::string(node.op().name));
  if (!node.device().empty()) message.set_device(node.device());
  if (!node.origin().empty()) message.set_origin(node.origin());
  for (const Value& input : node.inputs()) message.add_input(input.name());
  for (const Node* before : node.control_inputs())
    message.add_input("^" + before->name());
  auto& attrs = *message.mutable_attr();
  for (const auto& [name, value] : node.attrs().items())
    attr_to_message(value, constants, attrs[name]);
  for (const std::string& name : node.colocated_with())
    attrs[std::string(kClass)].mutable_list()->add_s(
        fmt::format("{}{}", kClassPrefix, name));
  if (node.outputs().empty()) return;
  auto& shapes = *attrs[std::string(kShapes)].mutable_list();
  for (const TensorType& type : node.outputs())
    shape_to_message(type.shape, *shapes.add_shape());
}

[[noreturn]] void refuse(const proto::NodeDef& node, const std::string& what) {
  throw Error(Code::kInvalidArgument,
              fmt::format("node {} \"{}\": {}", node.op(), node.name(), what));
}

// Makes the nodes of a message, one after the other.
class Builder {
 public:
  Builder(Graph& graph, const std::vector<Tensor>& data)
      : data_(data),
        graph_(graph),
        first_(graph.nodes().size()),
        names_(graph, "/"),
        order_(graph, {}, true) {}

  void add(const proto::NodeDef& message) {
    const OpDef* op = OpRegistry::process().find(message.op());
    if (!op)
      refuse(message,
             "this process knows no such operation; a library that has it must "
             "be loaded first");
    NodeArgs args{.op = op->name,
                  .attrs = attrs_of(*op, message),
                  .name = message.name(),
                  .origin = message.origin()};
    if (args.name.empty()) refuse(message, "it has no name");
    inputs_of(message, args);
    const bool twice = graph_.find(args.name) != nullptr;
    Node& node = graph_.add(std::move(args));
    if (node.name() != message.name())
      refuse(message, twice ? "there are two nodes of this name"
                            : "a scope of the graph has this name; import into "
                              "an empty graph, or within a scope");
    node.set_device(message.device());
    node.set_colocated_with(colocated_with(message));
    set_shapes(message, node);
  }

  void finish(const proto::GraphDef& message) {
    for (const Later& later : later_) close_edge(later);
    for (const auto& collection : message.collection())
      for (const std::string& name : collection.value())
        graph_.collection(collection.name()).push_back(graph_.value(name));
    if (first_ == 0) graph_.set_seed(message.seed());
    take_scopes();
  }

 private:
  // An edge from a node further down: it closes a loop.
  struct Later {
    std::string to;
    int input;  // -1: a control edge
    std::string from;
  };

  Attrs attrs_of(const OpDef& op, const proto::NodeDef& message) const {
    Attrs attrs;
    for (const auto& item : message.attr()) {
      const std::string& name = item.first;
      const proto::AttrValue& value = item.second;
      if (name.starts_with('_')) continue;
      const auto spec =
          std::find_if(op.attrs.begin(), op.attrs.end(),
                       [&](const AttrSpec& s) { return s.name == name; });
      if (spec == op.attrs.end())
        refuse(message, fmt::format("it has no attribute \"{}\"", name));
      auto read = attr_from_message(value, spec->value, data_);
      if (!read.ok())
        refuse(message, fmt::format("attribute \"{}\": {}", name,
                                    read.status().message()));
      attrs.set(name, std::move(*read));
    }
    for (const std::string_view name : kAttached) detach(name, attrs);
    return attrs;
  }

  // Functions and data sets of the program are not saved. What this graph has
  // under the same name is another one.
  void detach(std::string_view name, Attrs& attrs) const {
    if (!attrs.has(name)) return;
    auto attached = attrs.get<std::string>(name);
    while (graph_.attachment(attached)) attached += "_saved";
    attrs.set(std::string(name), attached);
  }

  static std::string node_of(const std::string& input) {
    return input.substr(0, input.rfind(':'));
  }

  void inputs_of(const proto::NodeDef& message, NodeArgs& args) {
    for (const std::string& input : message.input()) {
      const bool control = input.starts_with('^');
      const std::string from = control ? input.substr(1) : node_of(input);
      Node* node = graph_.find(from);
      const auto index = static_cast<int>(args.inputs.size());
      if (!node)
        later_.push_back(
            {message.name(), control ? -1 : index, control ? from : input});
      else if (control)
        args.control_inputs.push_back(node);
      if (!control) args.inputs.push_back(node ? graph_.value(input) : Value());
    }
    // Until it is there, an input of the same type stands for the one that
    // comes round.
    const auto known =
        std::find_if(args.inputs.begin(), args.inputs.end(),
                     [](const Value& v) { return static_cast<bool>(v); });
    for (size_t i = 0; i < args.inputs.size(); ++i) {
      if (args.inputs[i]) continue;
      if (args.op != "Merge" || known == args.inputs.end())
        refuse(message, fmt::format("its input {} is no node before it", i));
      args.inputs[i] = *known;
    }
  }

  void close_edge(const Later& later) const {
    Node& node = *graph_.find(later.to);
    Node* from =
        graph_.find(later.input < 0 ? later.from : node_of(later.from));
    if (!from)
      throw Error(Code::kInvalidArgument,
                  fmt::format("{} waits for \"{}\", which is not in the graph",
                              node.describe(), later.from));
    if (later.input < 0) {
      node.add_control_input(*from);
      return;
    }
    const Value value = graph_.value(later.from);
    if (value.dtype() != node.input(later.input).dtype())
      throw Error(
          Code::kInvalidArgument,
          fmt::format("{}: its input {} has type {}, the others {}",
                      node.describe(), later.input, name_of(value.dtype()),
                      name_of(node.input(later.input).dtype())));
    node.set_input(later.input, value);
  }

  static std::vector<std::string> colocated_with(
      const proto::NodeDef& message) {
    std::vector<std::string> names;
    const auto found = message.attr().find(std::string(kClass));
    if (found == message.attr().end()) return names;
    for (const std::string& text : found->second.list().s())
      if (text.starts_with(kClassPrefix))
        names.push_back(text.substr(kClassPrefix.size()));
    return names;
  }

  // What was known of the outputs, by what is now inferred and besides.
  static void set_shapes(const proto::NodeDef& message, Node& node) {
    const auto found = message.attr().find(std::string(kShapes));
    if (found == message.attr().end()) return;
    const auto& shapes = found->second.list().shape();
    for (int i = 0; i < std::min<int>(shapes.size(),
                                      static_cast<int>(node.outputs().size()));
         ++i) {
      auto shape = shape_from_message(shapes[i]);
      if (!shape.ok()) refuse(message, shape.status().message());
      auto both = merge(node.outputs()[static_cast<size_t>(i)].shape, *shape);
      if (both.ok()) node.set_shape(i, std::move(*both));
    }
  }

  // Names of scopes are taken, as they were when the nodes were made.
  void take_scopes() {
    std::set<std::string> scopes;
    for (size_t i = first_; i < graph_.nodes().size(); ++i) {
      const std::string& name = graph_.nodes()[i]->name();
      for (size_t at = name.find('/'); at != std::string::npos;
           at = name.find('/', at + 1))
        scopes.insert(name.substr(0, at));
    }
    for (const std::string& scope : scopes)
      if (!graph_.find(scope)) (void)graph_.unique_name(scope);
  }

  const std::vector<Tensor>& data_;
  Graph& graph_;
  const size_t first_;  // of the nodes it makes
  const NameScope names_;
  const ControlScope order_;
  std::vector<Later> later_;
};

}  // namespace

proto::GraphDef graph_to_message(const Graph& graph,
                                 const ConstantsOut& constants) {
  proto::GraphDef message;
  message.mutable_versions()->set_producer(1);
  message.set_format(kFormat);
  message.set_seed(graph.seed());
  for (const auto& node : graph.nodes())
    node_to_message(*node, constants, *message.add_node());
  for (const auto& [name, values] : graph.collections()) {
    auto& collection = *message.add_collection();
    collection.set_name(name);
    for (const Value& value : values) collection.add_value(value.name());
  }
  return message;
}

void put_within(const std::string& scope, proto::GraphDef& message) {
  auto within = [&](const std::string& name) {
    return fmt::format("{}/{}", scope, name);
  };
  for (auto& node : *message.mutable_node()) {
    node.set_name(within(node.name()));
    for (std::string& input : *node.mutable_input())
      input = input.starts_with('^')
                  ? fmt::format("^{}", within(input.substr(1)))
                  : within(input);
    for (const std::string_view shared : kShared) {
      const auto found = node.mutable_attr()->find(std::string(shared));
      if (found == node.mutable_attr()->end()) continue;
      proto::AttrValue& value = found->second;
      // A variable of no name has its node's.
      if (value.has_s() && !value.s().empty()) value.set_s(within(value.s()));
      if (value.has_list())
        for (std::string& name : *value.mutable_list()->mutable_s())
          name = within(name);
    }
    const auto beside = node.mutable_attr()->find(std::string(kClass));
    if (beside == node.mutable_attr()->end()) continue;
    for (std::string& text : *beside->second.mutable_list()->mutable_s())
      if (text.starts_with(kClassPrefix))
        text = fmt::format("{}{}", kClassPrefix,
                           within(text.substr(kClassPrefix.size())));
  }
  for (auto& collection : *message.mutable_collection())
    for (std::string& name : *collection.mutable_value()) name = within(name);
}

void check_names(const proto::GraphDef& message, const Graph& graph) {
  for (const auto& node : message.node())
    if (Node* there = graph.find(node.name()))
      throw Error(
          Code::kInvalidArgument,
          fmt::format("the graph to import has a node \"{}\", and so has this "
                      "one: {}; import into an empty graph, or within a scope",
                      node.name(), there->describe()));
}

void add_message(const proto::GraphDef& message,
                 const std::vector<Tensor>& data, Graph& graph) {
  if (message.format() > kFormat)
    throw Error(Code::kInvalidArgument,
                fmt::format("the graph has format {}, this version reads up to "
                            "{}",
                            message.format(), kFormat));
  Builder builder(graph, data);
  for (const auto& node : message.node()) builder.add(node);
  builder.finish(message);
}

}  // namespace rondo
