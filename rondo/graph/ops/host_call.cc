#include "rondo/graph/ops/host_call.h"

#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/register.h"

namespace rondo {
namespace {

using Types = std::vector<DType>;

Status infer_host_call(InferContext& c) {
  for (const DType dtype : c.attr<Types>("types")) c.output(dtype, {});
  return {};
}

Status infer_custom_gradient(InferContext& c) {
  const int64_t ys = c.attr<int64_t>("num_outputs");
  if (ys < 1 || ys > c.inputs())
    return error(Code::kInvalidArgument,
                 "num_outputs is {}, but there are {} inputs", ys, c.inputs());
  for (int i = 0; i < static_cast<int>(ys); ++i)
    c.output(c.dtype(i), c.shape(i));
  return {};
}

std::vector<Gradient> custom_gradient_of(Node& node,
                                         std::span<const Value> grads) {
  const auto function = host_function_of(node);
  if (!function)
    throw Error(
        Code::kInvalidArgument,
        fmt::format("{}: its gradient is a function of the program that "
                    "made it, which a saved graph does not have",
                    node.describe()));
  return function->gradient(node, grads);
}

class CalledFunction final : public HostFunction {
 public:
  explicit CalledFunction(HostFn fn) : fn_(std::move(fn)) {}
  Result<std::vector<Tensor>> call(
      std::span<const Tensor> inputs) const override {
    return fn_(inputs);
  }

 private:
  const HostFn fn_;
};

class GradientFunction final : public HostFunction {
 public:
  explicit GradientFunction(CustomGradientFn fn) : fn_(std::move(fn)) {}
  std::vector<Gradient> gradient(Node& node,
                                 std::span<const Value> grads) const override {
    const auto ys = node.outputs().size();
    const auto xs = node.inputs().size() - ys;
    std::vector<Gradient> of_xs = fn_(grads);
    if (of_xs.size() != xs)
      throw Error(Code::kInvalidArgument,
                  fmt::format("{}: its function gave {} gradients for {} xs",
                              node.describe(), of_xs.size(), xs));
    // Through the ys themselves nothing flows back.
    std::vector<Gradient> back(ys);
    back.insert(back.end(), of_xs.begin(), of_xs.end());
    return back;
  }

 private:
  const CustomGradientFn fn_;
};

// Under a name that is the same whenever the same program runs.
std::string keep(Graph& graph, std::shared_ptr<const HostFunction> function) {
  size_t number = graph.nodes().size();
  std::string name;
  do name = fmt::format("host_function/{}", number++);
  while (graph.attachment(name));
  graph.attach(name, std::move(function));
  return name;
}

}  // namespace

void register_host_call_ops(OpRegistry& ops) {
  const AttrSpec function = {"function", std::string(), true,
                             "under which it is attached to the graph"};
  ops.add({.name = "HostCall",
           .doc = "What a function of the program's own gives.",
           .inputs = {{"inputs", TypeSet::kAnyType, true, 0}},
           .outputs = {"outputs"},
           .attrs = {function,
                     {"types", Types(), true, "element types of the outputs"}},
           .infer = infer_host_call,
           .cost = cost::copied,
           .kind = OpKind::kStateful});
  ops.add({.name = "CustomGradient",
           .doc = "The first of its inputs, with a gradient that a function of "
                  "the program's own makes; it flows to the other inputs.",
           .inputs = {{"inputs", TypeSet::kAnyType, true, 0}},
           .outputs = {"outputs"},
           .attrs = {function,
                     {"num_outputs", int64_t{1}, true,
                      "how many of the inputs are outputs"}},
           .infer = infer_custom_gradient,
           .gradient = custom_gradient_of,
           .cost = cost::none});
}

Node& add_host_call(Graph& graph, std::shared_ptr<const HostFunction> function,
                    const std::vector<Value>& inputs,
                    const std::vector<DType>& types, std::string name,
                    std::string origin) {
  return graph.add({.op = "HostCall",
                    .inputs = inputs,
                    .attrs = {{"function", keep(graph, std::move(function))},
                              {"types", types}},
                    .name = std::move(name),
                    .origin = std::move(origin)});
}

Node& add_custom_gradient(Graph& graph,
                          std::shared_ptr<const HostFunction> function,
                          const std::vector<Value>& ys,
                          const std::vector<Value>& xs, std::string name,
                          std::string origin) {
  std::vector<Value> inputs = ys;
  inputs.insert(inputs.end(), xs.begin(), xs.end());
  return graph.add({.op = "CustomGradient",
                    .inputs = std::move(inputs),
                    .attrs = {{"function", keep(graph, std::move(function))},
                              {"num_outputs", static_cast<int64_t>(ys.size())}},
                    .name = std::move(name),
                    .origin = std::move(origin)});
}

namespace {

std::vector<Value> outputs_of(Node& node) {
  std::vector<Value> outputs;
  for (size_t i = 0; i < node.outputs().size(); ++i)
    outputs.push_back(node.output(static_cast<int>(i)));
  return outputs;
}

}  // namespace

std::vector<Value> host_call(Graph& graph, HostFn fn,
                             const std::vector<Value>& inputs,
                             const std::vector<DType>& types,
                             std::string name) {
  return outputs_of(
      add_host_call(graph, std::make_shared<CalledFunction>(std::move(fn)),
                    inputs, types, std::move(name)));
}

std::vector<Value> custom_gradient(const std::vector<Value>& ys,
                                   const std::vector<Value>& xs,
                                   CustomGradientFn fn) {
  if (ys.empty() || !ys[0])
    throw Error(Code::kInvalidArgument, "custom_gradient: there are no ys");
  return outputs_of(add_custom_gradient(
      ys[0].graph(), std::make_shared<GradientFunction>(std::move(fn)), ys,
      xs));
}

}  // namespace rondo
