#include "rondo/graph/loop_gradient.h"

#include <algorithm>
#include <string>

#include "rondo/graph/gradients.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/control.h"

namespace rondo {
namespace {

// One variable of a loop.
struct Variable {
  Node* enter = nullptr;
  Node* merge = nullptr;
  Node* at_switch = nullptr;
  Node* next = nullptr;
  Node* exit = nullptr;

  Value initial() const { return enter->input(0); }
  Value in_body() const { return {at_switch, 1}; }
  Value after_body() const { return next->input(0); }
  bool differentiable() const {
    return contains(TypeSet::kFloat, in_body().dtype());
  }
};

struct Loop {
  std::string frame;
  Node* condition = nullptr;  // the LoopCond
  std::vector<Variable> variables;
  std::vector<Node*> constants;  // Enters of what is used from outside
  std::vector<bool> inside;      // by node id, Enters and Exits included
};

bool is(const Node& node, std::string_view op) { return node.op().name == op; }

Loop find_loop(Node& exit) {
  Loop loop;
  Graph& graph = exit.graph();
  Node& own_switch = *exit.input(0).node;
  loop.condition = own_switch.input(1).node;
  loop.frame =
      own_switch.input(0).node->input(0).node->attrs().get<std::string>(
          "frame_name");
  loop.inside.resize(graph.nodes().size());
  auto mark = [&](const Node* node) {
    loop.inside[static_cast<size_t>(node->id())] = true;
  };
  auto is_inside = [&](const Node* node) {
    return loop.inside[static_cast<size_t>(node->id())];
  };
  // From what enters on, everything until it leaves.
  for (const auto& node : graph.nodes()) {
    if (is(*node, "Enter") &&
        node->attrs().get<std::string>("frame_name") == loop.frame) {
      mark(node.get());
      if (node->attrs().get<bool>("is_constant"))
        loop.constants.push_back(node.get());
      continue;
    }
    const bool after =
        std::ranges::any_of(node->inputs(),
                            [&](const Value& input) {
                              return is_inside(input.node) &&
                                     !(is(*input.node, "Exit"));
                            }) ||
        std::ranges::any_of(node->control_inputs(), [&](const Node* before) {
          return is_inside(before) && !is(*before, "Exit");
        });
    if (after) mark(node.get());
  }
  for (const auto& node : graph.nodes()) {
    if (!is_inside(node.get()) || !is(*node, "Merge") ||
        node->inputs().size() != 2 ||
        !is(*node->input(1).node, "NextIteration"))
      continue;
    Variable v{.enter = node->input(0).node,
               .merge = node.get(),
               .next = node->input(1).node};
    loop.variables.push_back(v);
  }
  for (Variable& v : loop.variables)
    for (const auto& node : graph.nodes()) {
      if (is(*node, "Switch") && node->input(0).node == v.merge &&
          node->input(1).node == loop.condition)
        v.at_switch = node.get();
      if (is(*node, "Exit") && v.at_switch &&
          node->input(0).node == v.at_switch)
        v.exit = node.get();
    }
  std::erase_if(loop.variables, [](const Variable& v) { return !v.at_switch; });
  return loop;
}

// How often the loop ran, and in its body the number of the iteration.
struct Counter {
  Value in_body;
  Value total;
  Node* written;  // waits for what each iteration writes
};

Counter add_counter(Graph& graph, const Loop& loop) {
  const Node& model = *loop.variables[0].enter;
  Attrs enter_attrs = model.attrs();
  enter_attrs.set("shape", PartialShape::scalar());
  const Value entered =
      make("Enter", {constant(graph, 0, DType::kI64)}, enter_attrs);
  const Value merged = make("Merge", {entered, entered});
  Node& at_switch =
      graph.add({.op = "Switch", .inputs = {merged, loop.condition->output()}});
  const Value number = identity(at_switch.output(1));
  Node& written = graph.add({.op = "Await"});
  // Of this frame: it runs once an iteration.
  written.add_control_input(*number.node);
  Value one;
  {
    const ControlScope here(graph, {&written});
    one = constant(graph, 1, DType::kI64);
  }
  const Value next = make("Add", {number, one});
  merged.node->set_input(1, make("NextIteration", {next}));
  return {number, make("Exit", {at_switch.output(0)}), &written};
}

// The body of the backward loop: what it takes from the forward loop's body
// comes from a stack.
class BackwardValues {
 public:
  BackwardValues(Graph& graph, const Loop& loop, const Counter& counter)
      : graph_(graph), loop_(loop), counter_(counter) {}

  bool is_of_loop(Value value) const {
    const auto id = static_cast<size_t>(value.node->id());
    return id < loop_.inside.size() && loop_.inside[id];
  }
  // Saves `value` in the forward loop; called with no context in force.
  std::string save(Value value) {
    std::string stack =
        graph_.unique_name(fmt::format("stack/{}", value.name()));
    Node& write = graph_.add({.op = "StackWrite",
                              .inputs = {counter_.in_body, value},
                              .attrs = {{"stack", stack}}});
    counter_.written->add_control_input(write);
    return stack;
  }
  static Value load(const std::string& stack, Value value, Value index) {
    return make(
        "StackRead", {index},
        {{"stack", stack}, {"dtype", value.dtype()}, {"shape", value.shape()}});
  }

 private:
  Graph& graph_;
  const Loop& loop_;
  const Counter& counter_;
};

}  // namespace

LoopGradient loop_gradient(Node& exit,
                           const std::function<Value(Value)>& grad_of,
                           const BodyGradients& body_gradients) {
  Graph& graph = exit.graph();
  const Loop loop = find_loop(exit);
  std::vector<const Variable*> variables;
  for (const Variable& v : loop.variables)
    if (v.differentiable()) variables.push_back(&v);
  std::vector<Node*> constants;
  for (Node* enter : loop.constants)
    if (contains(TypeSet::kFloat, enter->outputs()[0].dtype))
      constants.push_back(enter);
  const Counter counter = add_counter(graph, loop);
  BackwardValues values(graph, loop, counter);

  // The way back begins with the number of iterations, the gradients of what
  // left the loop, and nothing yet for what it used from outside.
  Values initial{counter.total};
  for (const Variable* v : variables) {
    const Value left =
        v->exit ? v->exit->output() : make("Exit", {{v->at_switch, 0}});
    const Value grad = v->exit ? grad_of(left) : Value();
    initial.push_back(grad ? grad : zeros_like(left));
  }
  for (const Node* enter : constants)
    initial.push_back(zeros_like(enter->input(0)));

  Values xs, ys;
  for (const Variable* v : variables) {
    xs.push_back(v->in_body());
    ys.push_back(v->after_body());
  }
  for (Node* enter : constants) xs.push_back(enter->output());

  Value index;  // in the backward loop's body
  WhileOptions options{.name = "backward_while"};
  options.stand_in = [&](Value value) -> Value {
    if (!index || !values.is_of_loop(value)) return {};
    // What entered the forward loop for all iterations enters this one too.
    const Node& node = *value.node;
    if (is(node, "Enter") && node.attrs().get<bool>("is_constant"))
      return identity(node.input(0));
    std::string stack;
    {
      const FlowContext::Suspend outside(graph);
      stack = values.save(value);
    }
    return values.load(stack, value, index);
  };
  const Values back = while_loop(
      [&](const Values& v) {
        return make("Greater", {v[0], constant(graph, 0, DType::kI64)});
      },
      [&](const Values& v) {
        index = make("Sub", {v[0], constant(graph, 1, DType::kI64)});
        const std::span<const Value> grads(v.data() + 1, variables.size());
        const auto found = body_gradients(ys, xs, grads);
        Values next{index};
        for (size_t i = 0; i < xs.size(); ++i) {
          const Value part = found[i] ? to_dense(found[i]) : Value();
          if (i < variables.size())
            next.push_back(part ? part : zeros_like(xs[i]));
          else
            next.push_back(part ? make("Add", {v[i + 1], part}) : v[i + 1]);
        }
        return next;
      },
      initial, options);

  LoopGradient result;
  result.nodes = loop.inside;
  for (size_t i = 0; i < variables.size(); ++i)
    result.parts.emplace_back(variables[i]->initial(), back[i + 1]);
  for (size_t i = 0; i < constants.size(); ++i)
    result.parts.emplace_back(constants[i]->input(0),
                              back[i + 1 + variables.size()]);
  return result;
}

}  // namespace rondo
