#include "rondo/graph/loop_gradient.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "rondo/graph/frames.h"
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
  int frame = 0;
  Node* condition = nullptr;  // the LoopCond
  std::vector<Variable> variables;
  std::vector<Node*> constants;  // Enters of what is used from outside
  // By node id: all of it, with inner loops, Enters and Exits; and where its
  // body begins.
  std::vector<bool> inside;
  std::vector<bool> border;
};

bool is(const Node& node, std::string_view op) { return node.op().name == op; }

Loop find_loop(Node& exit, Frames& frames) {
  Loop loop;
  const Node& own_switch = *exit.input(0).node;
  loop.condition = own_switch.input(1).node;
  loop.frame = frames.of(own_switch);
  const auto& nodes = exit.graph().nodes();
  loop.inside.resize(nodes.size());
  loop.border.resize(nodes.size());
  std::unordered_map<const Node*, size_t> by_merge, by_switch;
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = *nodes[i];
    const bool leaves =
        is(node, "Exit") && frames.of(*node.input(0).node) == loop.frame;
    loop.inside[i] = leaves || frames.is_within(frames.of(node), loop.frame);
    if (leaves) {
      const auto at = by_switch.find(node.input(0).node);
      if (at != by_switch.end()) loop.variables[at->second].exit = &node;
    }
    if (frames.of(node) != loop.frame) continue;
    if (is(node, "Enter")) {
      loop.border[i] = true;
      if (node.attrs().get<bool>("is_constant"))
        loop.constants.push_back(&node);
    } else if (is(node, "Merge") && node.inputs().size() == 2 &&
               is(*node.input(1).node, "NextIteration")) {
      by_merge[&node] = loop.variables.size();
      loop.variables.push_back({.enter = node.input(0).node,
                                .merge = &node,
                                .next = node.input(1).node});
    } else if (is(node, "Switch") && node.input(1).node == loop.condition) {
      const auto at = by_merge.find(node.input(0).node);
      if (at == by_merge.end()) continue;
      loop.border[i] = true;
      by_switch[&node] = at->second;
      loop.variables[at->second].at_switch = &node;
    }
  }
  std::erase_if(loop.variables, [](const Variable& v) { return !v.at_switch; });
  return loop;
}

Value enter_beside(const Node& enter, Value value, bool constant) {
  Attrs attrs = enter.attrs();
  attrs.set("shape", PartialShape::scalar());
  attrs.set("is_constant", constant);
  return make("Enter", {value}, attrs);
}

// What the forward loop gets for its gradient's sake.
class Recorder {
 public:
  // Adds a counter of the iterations, and a stack that is new each time the
  // loop begins.
  Recorder(const Loop& loop, bool nested) : enter_(*loop.variables[0].enter) {
    const FlowContext::Suspend beside(enter_);
    Graph& graph = enter_.graph();
    Value zero;
    {
      // Within another loop they are of its iteration.
      const ControlScope begins(graph, nested
                                           ? std::vector{enter_.input(0).node}
                                           : std::vector<Node*>());
      zero = constant(graph, 0, DType::kI64);
      stack_ = graph.add({.op = "NewStack"}).output();
    }
    stack_in_body_ = enter_beside(enter_, stack_, true);
    const Value entered = enter_beside(enter_, zero, false);
    const Value merged = make("Merge", {entered, entered});
    Node& at_switch = graph.add(
        {.op = "Switch", .inputs = {merged, loop.condition->output()}});
    number_ = identity(at_switch.output(1));
    written_ = &graph.add({.op = "Await", .control_inputs = {number_.node}});
    Value one;
    {
      const ControlScope here(graph, {written_});
      one = constant(graph, 1, DType::kI64);
    }
    const Value next = make("Add", {number_, one});
    merged.node->set_input(1, make("NextIteration", {next}));
    total_ = make("Exit", {at_switch.output(0)});
  }

  // How often the loop ran.
  Value total() const { return total_; }

  // Makes the loop write `value`, which is of its body, to a stack; what reads
  // it there, in the way back's iteration `index`.
  Value recorded(Value value, Value index) {
    std::string name;
    {
      const FlowContext::Suspend beside(enter_);
      Graph& graph = enter_.graph();
      name = graph.unique_name(fmt::format("stack/{}", value.name()));
      Node& write = graph.add({.op = "StackWrite",
                               .inputs = {stack_in_body_, number_, value},
                               .attrs = {{"name", name}}});
      written_->add_control_input(write);
    }
    return make(
        "StackRead", {stack_, index},
        {{"name", name}, {"dtype", value.dtype()}, {"shape", value.shape()}});
  }

 private:
  const Node& enter_;  // one of the loop's
  Value stack_;        // around the loop
  Value stack_in_body_;
  Value number_;  // of the iteration, in the body
  Value total_;
  Node* written_;  // waits for what each iteration writes
};

}  // namespace

LoopGradient loop_gradient(Node& exit,
                           const std::function<Value(Value)>& grad_of,
                           const BodyGradients& body_gradients) {
  Graph& graph = exit.graph();
  Frames frames(graph);
  const Loop loop = find_loop(exit, frames);
  std::vector<const Variable*> variables;
  for (const Variable& v : loop.variables)
    if (v.differentiable()) variables.push_back(&v);
  std::vector<Node*> constants;
  for (Node* enter : loop.constants)
    if (contains(TypeSet::kFloat, enter->outputs()[0].dtype))
      constants.push_back(enter);
  LoopGradient result;
  result.nodes = loop.inside;
  Values grads_of_exits;
  for (const Variable* v : variables)
    grads_of_exits.push_back(v->exit ? grad_of(v->exit->output()) : Value());
  if (std::ranges::none_of(grads_of_exits, [](Value v) { return bool(v); }))
    return result;
  const Node& first = *loop.variables[0].initial().node;
  Recorder recorder(loop, frames.of(first) != 0);

  // The way back begins with the number of iterations, the gradients of what
  // left the loop, and nothing yet for what it used from outside.
  Values initial{recorder.total()};
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = *variables[i];
    if (grads_of_exits[i]) {
      initial.push_back(grads_of_exits[i]);
      continue;
    }
    Value left = v.exit ? v.exit->output() : Value();
    if (!left) {
      const FlowContext::Suspend beside(*v.enter);
      left = make("Exit", {{v.at_switch, 0}});
    }
    initial.push_back(zeros_like(left));
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
    if (!index) return {};
    const int frame = frames.of(*value.node);
    if (!frames.is_within(frame, loop.frame)) return {};
    // Of an inner loop: its own way back reads it from its own stack.
    if (frame != loop.frame) return value;
    // What entered the forward loop for all iterations enters this one too.
    const Node& node = *value.node;
    if (is(node, "Enter") && node.attrs().get<bool>("is_constant"))
      return identity(node.input(0));
    return recorder.recorded(value, index);
  };
  const Values back = while_loop(
      [&](const Values& v) {
        return make("Greater", {v[0], constant(graph, 0, DType::kI64)});
      },
      [&](const Values& v) {
        index = make("Sub", {v[0], constant(graph, 1, DType::kI64)});
        const std::span<const Value> grads(v.data() + 1, variables.size());
        const auto found = body_gradients(ys, xs, grads, loop.border);
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

  for (size_t i = 0; i < variables.size(); ++i)
    result.parts.emplace_back(variables[i]->initial(), back[i + 1]);
  for (size_t i = 0; i < constants.size(); ++i)
    result.parts.emplace_back(constants[i]->input(0),
                              back[i + 1 + variables.size()]);
  return result;
}

}  // namespace rondo
