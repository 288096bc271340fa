#include "rondo/graph/ops/control.h"

#include "rondo/graph/ops/array_parts.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/infer.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

Status infer_switch(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_scalar(1, "condition"));
  c.output(c.dtype(0), c.shape(0));
  c.output(c.dtype(0), c.shape(0));
  return {};
}

// As much of the shape as all inputs agree on.
PartialShape common_shape(InferContext& c) {
  PartialShape shape = c.shape(0);
  for (int i = 1; i < c.inputs(); ++i) {
    const PartialShape& other = c.shape(i);
    if (!shape.has_rank() || !other.has_rank() || shape.rank() != other.rank())
      return {};
    for (int k = 0; k < shape.rank(); ++k)
      if (shape[k] != other[k]) shape.set(k, kAny);
  }
  return shape;
}

Status infer_merge(InferContext& c) {
  if (c.inputs() == 0)
    return error(Code::kInvalidArgument, "it needs at least one input");
  c.output(c.dtype(0), common_shape(c));
  c.output(DType::kI64, PartialShape::scalar());
  return {};
}

Status infer_enter(InferContext& c) {
  const auto& shape = c.attr<PartialShape>("shape");
  c.output(c.dtype(0), shape.has_rank() ? shape : c.shape(0));
  return {};
}

Value switch_of(Value x, Value condition, int branch) {
  Node& node = x.graph().add({.op = "Switch", .inputs = {x, condition}});
  return node.output(branch);
}

Value merge(std::vector<Value> inputs) {
  return make("Merge", std::move(inputs));
}

// What flows back through the branch that is taken; through the other, zero.
std::vector<Gradient> switch_gradient(Node& node,
                                      std::span<const Value> grads) {
  const Value condition = node.input(1);
  auto of_branch = [&](int branch) {
    const Value grad = grads[static_cast<size_t>(branch)];
    return grad ? grad
                : switch_of(zeros_like(node.input(0)), condition, branch);
  };
  return {merge({of_branch(0), of_branch(1)}), {}};
}

std::vector<Gradient> merge_gradient(Node& node, std::span<const Value> grads) {
  if (node.inputs().size() != 2)
    throw Error(Code::kInvalidArgument,
                fmt::format("{}: gradients flow through merges of two",
                            node.describe()));
  const Value second = cast(node.output(1), DType::kBool);
  Node& back = node.graph().add({.op = "Switch", .inputs = {grads[0], second}});
  return {back.output(0), back.output(1)};
}

// One branch of a cond.
class BranchContext final : public FlowContext {
 public:
  BranchContext(Graph& graph, Value condition, bool taken)
      : FlowContext(graph), condition_(condition), branch_(taken ? 1 : 0) {}

  Node& pivot() override {
    if (!pivot_) {
      // Of all that is to be in the branch, whatever else that waits for.
      const ControlScope free(graph(), {}, true);
      pivot_ = &graph().add({.op = "Identity",
                             .inputs = {condition_},
                             .name = branch_ ? "then" : "else"});
    }
    return *pivot_;
  }

 protected:
  using FlowContext::capture;
  Value capture(Value value) override {
    return switch_of(value, condition_, branch_);
  }

 private:
  const Value condition_;
  const int branch_;
  Node* pivot_ = nullptr;
};

struct Frame {
  std::string name;
  int parallel;
};

Value enter(Value value, const Frame& frame, bool constant,
            const PartialShape& shape = {}) {
  return make("Enter", {value},
              {{"frame_name", frame.name},
               {"is_constant", constant},
               {"parallel_iterations", static_cast<int64_t>(frame.parallel)},
               {"shape", shape}});
}

// Condition and body of a loop, whose variables are merges of what enters it
// and what comes round.
class LoopContext final : public FlowContext {
 public:
  LoopContext(Graph& graph, Frame frame, const Values& variables,
              std::function<Value(Value)> stand_in)
      : FlowContext(graph),
        frame_(std::move(frame)),
        stand_in_(std::move(stand_in)) {
    for (const Value& variable : variables) admit(variable);
  }
  Node& pivot() override { return *pivot_; }
  void set_pivot(Value value) { pivot_ = value.node; }

 protected:
  Value capture(Value value) override { return enter(value, frame_, true); }
  // What a loop waits for as a whole, what enters it does.
  Node* capture(Node& before) override {
    if (began_after(before)) return nullptr;
    const ControlScope after(graph(), {&before});
    const Value token = constant(graph(), 0, DType::kI32);
    return enter(token, frame_, true).node;
  }
  // It comes in every iteration, also in the last, where the condition fails.
  bool is_free(const Node& node) const override {
    return node.op().name == "Enter" && node.attrs().get<bool>("is_constant");
  }
  Value stand_in(Value value) override {
    return stand_in_ ? stand_in_(value) : Value();
  }

 private:
  const Frame frame_;
  const std::function<Value(Value)> stand_in_;
  Node* pivot_ = nullptr;
};

void check_branch(const Values& a, const Values& b) {
  if (a.size() != b.size())
    throw Error(Code::kInvalidArgument,
                fmt::format("cond: one branch gives {} values, the other {}",
                            a.size(), b.size()));
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].dtype() != b[i].dtype())
      throw Error(Code::kInvalidArgument,
                  fmt::format("cond: value {} is {} in one branch and {} in "
                              "the other",
                              i, name_of(a[i].dtype()), name_of(b[i].dtype())));
}

void check_round(size_t i, Value variable, Value next) {
  if (variable.dtype() == next.dtype() &&
      variable.shape().compatible(next.shape()))
    return;
  throw Error(
      Code::kInvalidArgument,
      fmt::format("while_loop: variable {} begins as {}{}, but the body "
                  "makes it {}{}",
                  i, name_of(variable.dtype()), variable.shape().to_string(),
                  name_of(next.dtype()), next.shape().to_string()));
}

Status infer_stack(InferContext& c) {
  c.output(DType::kI64, PartialShape::scalar());
  return {};
}

Status infer_stack_write(InferContext& c) {
  RONDO_RETURN_IF_ERROR(c.want_scalar(0, "stack"));
  return c.want_scalar(1, "index");
}

Status infer_stack_read(InferContext& c) {
  RONDO_RETURN_IF_ERROR(infer_stack_write(c));
  c.output(c.attr<DType>("dtype"), c.attr<PartialShape>("shape"));
  return {};
}

}  // namespace

void register_control_ops(OpRegistry& ops) {
  ops.add({.name = "Switch",
           .doc = "x as output 1 where the condition holds and as output 0 "
                  "where it does not; the other output is dead, and so is what "
                  "depends on it.",
           .inputs = {{"x", TypeSet::kAnyType, false, 0},
                      {"condition", TypeSet::kBoolean, false, 0}},
           .outputs = {"if_false", "if_true"},
           .infer = infer_switch,
           .gradient = switch_gradient,
           .cost = cost::none});
  ops.add({.name = "Merge",
           .doc = "The first of its inputs that is not dead, and which it was.",
           .inputs = {{"inputs", TypeSet::kAnyType, true}},
           .outputs = {"value", "index"},
           .infer = infer_merge,
           .gradient = merge_gradient,
           .cost = cost::none});
  ops.add({.name = "Enter",
           .doc = "x within a loop.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .attrs = {{"frame_name", std::string(), true, "the loop's name"},
                     {"is_constant", false, false,
                      "whether every iteration gets it, not just the first"},
                     {"parallel_iterations", int64_t{10}, false,
                      "iterations that may be under way at once"},
                     {"shape", PartialShape(), false,
                      "what is known of its shape in all iterations"}},
           .infer = infer_enter,
           .cost = cost::none});
  ops.add({.name = "Exit",
           .doc = "x of the last iteration, behind the loop.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .infer = infer::like_input,
           .cost = cost::none});
  ops.add({.name = "NextIteration",
           .doc = "x in the next iteration of the loop.",
           .inputs = {{"x"}},
           .outputs = {"y"},
           .infer = infer::like_input,
           .cost = cost::none});
  ops.add({.name = "LoopCond",
           .doc = "The condition of a loop.",
           .inputs = {{"condition", TypeSet::kBoolean}},
           .outputs = {"y"},
           .infer = infer::like_input,
           .constant = true,
           .cost = cost::none});
  ops.add({.name = "Await",
           .doc = "Nothing; runs after its control inputs, even where they are "
                  "dead.",
           .infer = infer::nothing,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "NewStack",
           .doc =
               "A number that no other NewStack of the run gives, nor the same "
               "one another time.",
           .outputs = {"stack"},
           .infer = infer_stack,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "StackWrite",
           .doc =
               "Keeps a value until the run ends, under a NewStack's number, "
               "the name of a value, and an index.",
           .inputs = {{"stack", TypeSet::kIndex, false, 0},
                      {"index", TypeSet::kIndex, false, 0},
                      {"value", TypeSet::kAnyType, false, 0}},
           .attrs = {{"name", std::string(), true, "of the value"}},
           .infer = infer_stack_write,
           .constant = true,
           .cost = cost::none,
           .kind = OpKind::kStateful});
  ops.add({.name = "StackRead",
           .doc = "Takes what StackWrite kept; dead where nothing was.",
           .inputs = {{"stack", TypeSet::kIndex, false, 0},
                      {"index", TypeSet::kIndex, false, 0}},
           .outputs = {"value"},
           .attrs = {{"name", std::string(), true, "of the value"},
                     {"dtype", DType::kF32, true, "its element type"},
                     {"shape", PartialShape(), false,
                      "what is known of its shape"}},
           .infer = infer_stack_read,
           .cost = cost::none,
           .kind = OpKind::kStateful});
}

Values cond(Value condition, const std::function<Values()>& if_true,
            const std::function<Values()>& if_false) {
  Graph& graph = condition.graph();
  const NameScope scope(graph, "cond");
  auto build = [&](bool taken, const std::function<Values()>& branch) {
    BranchContext context(graph, condition, taken);
    Values values = branch();
    // A value that the branch only passes on comes through it too.
    for (Value& value : values) value = context.bring_in(value);
    return values;
  };
  const Values yes = build(true, if_true);
  const Values no = build(false, if_false);
  check_branch(yes, no);
  Values merged;
  for (size_t i = 0; i < yes.size(); ++i)
    merged.push_back(merge({no[i], yes[i]}));
  return merged;
}

Values while_loop(const std::function<Value(const Values&)>& condition,
                  const std::function<Values(const Values&)>& body,
                  const Values& initial, WhileOptions options) {
  if (initial.empty())
    throw Error(Code::kInvalidArgument, "while_loop: it has no variables");
  Graph& graph = initial[0].graph();
  const NameScope scope(graph, options.name);
  const Frame frame{scope.name(), options.parallel_iterations};
  Values variables;
  for (size_t i = 0; i < initial.size(); ++i) {
    const Value entered =
        enter(initial[i], frame, false,
              i < options.shapes.size() ? options.shapes[i] : PartialShape());
    // What enters has waited for what is outside.
    const ControlScope free(graph, {}, true);
    variables.push_back(merge({entered, entered}));
  }
  LoopContext context(graph, frame, variables, options.stand_in);
  context.set_pivot(variables[0]);
  const Value holds = make("LoopCond", {condition(variables)});
  Values inside;
  std::vector<Value> leaving;
  for (const Value& variable : variables) {
    Node& node = graph.add({.op = "Switch", .inputs = {variable, holds}});
    leaving.push_back(node.output(0));
    inside.push_back(identity(node.output(1)));
  }
  context.set_pivot(inside[0]);
  const Values next = body(inside);
  if (next.size() != variables.size())
    throw Error(Code::kInvalidArgument,
                fmt::format("while_loop: there are {} variables, but the body "
                            "gives {} values",
                            variables.size(), next.size()));
  for (size_t i = 0; i < next.size(); ++i) {
    check_round(i, variables[i], next[i]);
    variables[i].node->set_input(1, make("NextIteration", {next[i]}));
  }
  Values left;
  for (const Value& value : leaving) left.push_back(make("Exit", {value}));
  return left;
}

}  // namespace rondo
