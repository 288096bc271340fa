#include "rondo/graph/gradients.h"

#include <algorithm>
#include <map>
#include <string>

#include "rondo/graph/loop_gradient.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/origin.h"

namespace rondo {
namespace {

// All gradients that have come for one value, as one.
Gradient sum_of(const std::vector<Gradient>& parts) {
  if (parts.empty()) return {};
  if (parts.size() == 1) return parts[0];
  const bool sparse = std::ranges::all_of(
      parts, [](const Gradient& part) { return part.sparse(); });
  if (!sparse) {
    std::vector<Value> dense;
    for (const Gradient& part : parts) dense.push_back(to_dense(part));
    return make("AddN", dense);
  }
  std::vector<Value> rows, indices;
  for (const Gradient& part : parts) {
    rows.push_back(part.values);
    indices.push_back(cast(part.indices, DType::kI64));
  }
  return {make("Concat", rows, {{"axis", int64_t{0}}}),
          make("Concat", indices, {{"axis", int64_t{0}}}), parts[0].shape};
}

class Walk {
 public:
  // Within a loop's body, `border` is where that begins, by node id.
  Walk(Graph& graph, std::span<const Value> ys, std::span<const Value> xs,
       const std::vector<bool>& border = {})
      : graph_(graph), between_(graph.nodes().size()) {
    mark_between(ys, xs, border);
  }

  std::vector<Gradient> run(std::span<const Value> ys,
                            std::span<const Value> xs,
                            std::span<const Value> grad_ys) {
    for (size_t i = 0; i < ys.size(); ++i)
      parts_[key(ys[i])].push_back(
          i < grad_ys.size() && grad_ys[i] ? grad_ys[i] : ones_like(ys[i]));
    // Users come after what they use, so from the last node to the first every
    // part has come when a node's turn has.
    for (size_t i = between_.size(); i-- > 0;) {
      if (!between_[i]) continue;
      Node& node = *graph_.nodes()[i];
      // A loop's exits were made one after the other, before all that uses
      // them.
      if (node.op().name == "Exit")
        visit_loop(node);
      else
        visit(node);
    }
    std::vector<Gradient> found;
    for (const Value& x : xs) {
      const auto at = parts_.find(key(x));
      found.push_back(at == parts_.end() ? Gradient() : sum_of(at->second));
    }
    return found;
  }

 private:
  using Key = std::pair<int, int>;  // node id, output
  static Key key(const Value& v) { return {v.node->id(), v.index}; }
  static size_t id(const Node* node) { return static_cast<size_t>(node->id()); }

  // What node i takes; what it reads from a stack comes from who wrote it.
  std::vector<Value> sources_of(size_t i) const {
    const Node& node = *graph_.nodes()[i];
    std::vector<Value> sources = node.inputs();
    if (node.op().name == "StackRead") {
      const auto at = writes_.find(node.attrs().get<std::string>("name"));
      if (at != writes_.end()) sources.push_back(at->second);
    }
    return sources;
  }

  // The nodes on a way from an x to a y. Loops close by edges that lead back,
  // so one pass does not do.
  void mark_between(std::span<const Value> ys, std::span<const Value> xs,
                    const std::vector<bool>& border) {
    for (const auto& node : graph_.nodes())
      if (node->op().name == "StackWrite")
        writes_[node->attrs().get<std::string>("name")] = node->input(2);
    std::vector<bool> before_y(between_.size());
    for (const Value& y : ys) before_y[id(y.node)] = true;
    std::vector<bool> after_x(between_.size());
    for (const Value& x : xs) after_x[id(x.node)] = true;
    auto inputs_of = [&](size_t i) {
      return i < border.size() && border[i] ? std::vector<Value>()
                                            : sources_of(i);
    };
    for (bool again = true; again;) {
      again = false;
      for (size_t i = between_.size(); i-- > 0;) {
        if (!before_y[i]) continue;
        for (const Value& input : inputs_of(i)) {
          const size_t in = id(input.node);
          again = again || (in > i && !before_y[in]);
          before_y[in] = true;
        }
      }
      for (size_t i = 0; i < between_.size(); ++i) {
        if (after_x[i]) continue;
        for (const Value& input : inputs_of(i))
          if (after_x[id(input.node)]) after_x[i] = true;
        // The merge that it leads back to has been passed.
        again = again ||
                (after_x[i] && graph_.nodes()[i]->op().name == "NextIteration");
      }
    }
    for (size_t i = 0; i < between_.size(); ++i)
      between_[i] = before_y[i] && after_x[i];
  }

  void visit(Node& node) {
    std::vector<Value> grads(node.outputs().size());
    bool any = false;
    for (size_t i = 0; i < grads.size(); ++i) {
      const auto at = parts_.find({node.id(), static_cast<int>(i)});
      if (at == parts_.end()) continue;
      // What an x has is asked for in the end; it keeps its form.
      const Gradient all = sum_of(at->second);
      at->second = {all};
      if (needs_inputs(node)) grads[i] = to_dense(all);
      any = true;
    }
    if (!any || node.op().constant || !needs_inputs(node)) return;
    if (!node.op().gradient) no_gradient(node);
    const OriginScope line(node.origin());  // what is differentiated
    const std::vector<Gradient> back = node.op().gradient(node, grads);
    for (size_t i = 0; i < back.size(); ++i) {
      const Value& input = node.inputs()[i];
      if (!back[i] || !between_[id(input.node)]) continue;
      parts_[key(input)].push_back(back[i]);
      came_from_.emplace(input.node->id(), &node);
    }
  }

  void visit_loop(Node& exit) {
    auto grad_of = [&](Value value) -> Value {
      const auto at = parts_.find(key(value));
      return at == parts_.end() ? Value() : to_dense(sum_of(at->second));
    };
    auto within = [&](std::span<const Value> ys, std::span<const Value> xs,
                      std::span<const Value> grad_ys,
                      const std::vector<bool>& border) {
      return Walk(graph_, ys, xs, border).run(ys, xs, grad_ys);
    };
    const LoopGradient loop = loop_gradient(exit, grad_of, within);
    for (const auto& [value, gradient] : loop.parts) {
      if (id(value.node) >= between_.size() || !between_[id(value.node)])
        continue;
      parts_[key(value)].push_back(gradient);
      came_from_.emplace(value.node->id(), &exit);
    }
    for (size_t i = 0; i < between_.size(); ++i) {
      if (!loop.nodes[i]) continue;
      if (between_[i] && graph_.nodes()[i]->op().name == "StackRead")
        throw Error(Code::kInvalidArgument,
                    fmt::format("{} is of the gradient of a while_loop, which "
                                "has no gradient itself; unroll the loop to "
                                "have second derivatives",
                                exit.describe()));
      between_[i] = false;
    }
  }

  bool needs_inputs(const Node& node) const {
    return std::ranges::any_of(node.inputs(), [&](const Value& input) {
      return between_[id(input.node)];
    });
  }

  [[noreturn]] void no_gradient(const Node& node) const {
    std::string way = node.name();
    for (auto at = came_from_.find(node.id()); at != came_from_.end();
         at = came_from_.find(at->second->id()))
      way = fmt::format("{} -> {}", way, at->second->name());
    throw Error(Code::kInvalidArgument,
                fmt::format("{} has no gradient, but one must flow back "
                            "through it ({}); stop_gradient before it leaves "
                            "it out",
                            node.describe(), way));
  }

  Graph& graph_;
  std::map<std::string, Value> writes_;  // what StackWrites keep, by name
  std::vector<bool> between_;
  std::map<Key, std::vector<Gradient>> parts_;
  std::map<int, const Node*> came_from_;  // who first sent a gradient
};

}  // namespace

Value to_dense(const Gradient& gradient) {
  if (!gradient.sparse()) return gradient.values;
  return make("DenseRows", {gradient.values, gradient.indices, gradient.shape});
}

std::vector<Gradient> gradients(std::span<const Value> ys,
                                std::span<const Value> xs,
                                std::span<const Value> grad_ys) {
  if (ys.empty()) return std::vector<Gradient>(xs.size());
  Graph& graph = ys[0].graph();
  for (const auto& values : {ys, xs})
    for (const Value& value : values) {
      if (!value || &value.graph() != &graph)
        throw Error(Code::kInvalidArgument,
                    "gradients: every value must be of the same graph");
    }
  for (const Value& y : ys)
    if (!contains(TypeSet::kFloat, y.dtype()))
      throw Error(Code::kInvalidArgument,
                  fmt::format("gradients: {} has type {}, expected a "
                              "floating-point type",
                              y.node->describe(), name_of(y.dtype())));
  const NameScope scope(graph, "gradients");
  return Walk(graph, ys, xs).run(ys, xs, grad_ys);
}

std::vector<Value> dense_gradients(std::span<const Value> ys,
                                   std::span<const Value> xs) {
  std::vector<Value> dense;
  for (const Gradient& gradient : gradients(ys, xs))
    dense.push_back(gradient ? to_dense(gradient)
                             : zeros_like(xs[dense.size()]));
  return dense;
}

}  // namespace rondo
