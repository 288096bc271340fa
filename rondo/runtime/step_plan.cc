#include "rondo/runtime/step_plan.h"

#include <algorithm>
#include <map>

#include "rondo/graph/ops/transfer.h"
#include "rondo/kernels/kernel_registry.h"

namespace rondo {
namespace {

ItemKind kind_of(const Node& node) {
  const std::string_view op = node.op().name;
  if (op == "Switch") return ItemKind::kSwitch;
  if (op == "Merge") return ItemKind::kMerge;
  if (op == "Enter") return ItemKind::kEnter;
  if (op == "Exit") return ItemKind::kExit;
  if (op == "NextIteration") return ItemKind::kNext;
  if (op == "Await") return ItemKind::kAwait;
  if (is_send(node)) return ItemKind::kSend;
  if (is_recv(node)) return ItemKind::kRecv;
  if (op == "NoOp" || op == "Identity" || op == "StopGradient" ||
      op == "LoopCond")
    return ItemKind::kNothing;
  return ItemKind::kKernel;
}

class Compiler {
 public:
  Compiler(Subgraph subgraph, const Device& device, Containers& containers)
      : device_(device),
        containers_(containers),
        plan_(std::make_unique<StepPlan>()),
        order_(ordered_nodes(subgraph)),
        item_of_(subgraph.graph->nodes().size(), -1),
        feed_of_(subgraph.graph->nodes().size(), -1) {
    plan_->subgraph = std::move(subgraph);
    plan_->frames.emplace_back();
  }

  Result<std::unique_ptr<StepPlan>> run() {
    const auto& feeds = plan_->subgraph.feeds;
    plan_->feeds.resize(feeds.size());
    for (size_t i = 0; i < feeds.size(); ++i)
      feed_of_[id(feeds[i].node)] = static_cast<int>(i);
    for (Node* node : order_)
      if (feed_of_[id(node)] < 0) RONDO_RETURN_IF_ERROR(add_item(*node));
    for (const Value& fetch : plan_->subgraph.fetches)
      RONDO_RETURN_IF_ERROR(check_outside(fetch.node));
    for (const Node* target : plan_->subgraph.targets)
      RONDO_RETURN_IF_ERROR(check_outside(target));
    collect_edges();
    lay_out_edges();
    for (size_t i = 0; i < plan_->items.size(); ++i)
      if (plan_->items[i].waits_for == 0 &&
          plan_->items[i].kind != ItemKind::kMerge)
        plan_->roots.push_back(static_cast<int>(i));
    return std::move(plan_);
  }

 private:
  static size_t id(const Node* node) { return static_cast<size_t>(node->id()); }
  StepPlan::Item& item_of(const Node* node) {
    return plan_->items[static_cast<size_t>(item_of_[id(node)])];
  }

  // The frame that tokens of a node arrive in.
  int output_frame(const Node* node) {
    if (feed_of_[id(node)] >= 0) return 0;
    const StepPlan::Item& item = item_of(node);
    return item.kind == ItemKind::kEnter || item.kind == ItemKind::kExit
               ? item.target_frame
               : item.frame;
  }

  Status check_outside(const Node* node) {
    if (output_frame(node) == 0) return {};
    return error(
        Code::kInvalidArgument,
        "{} is within a loop, where it runs in each iteration: ask for "
        "what leaves the loop",
        node->describe());
  }

  // All that a node depends on is of one frame; that of loop-closing edges is
  // not known yet, and the same.
  Result<int> frame_of(const Node& node) {
    int frame = -1;
    const Node* first = nullptr;
    auto look = [&](const Node* before) -> Status {
      if (item_of_[id(before)] < 0 && feed_of_[id(before)] < 0) return {};
      const int its = output_frame(before);
      if (frame >= 0 && its != frame)
        return error(
            Code::kInvalidArgument,
            "{}: it takes \"{}\" and \"{}\", which belong to different "
            "loops; what a loop's body uses from outside must enter "
            "the loop",
            node.describe(), first->name(), before->name());
      frame = its;
      if (!first) first = before;
      return {};
    };
    for (const Value& input : node.inputs())
      RONDO_RETURN_IF_ERROR(look(input.node));
    for (const Node* before : node.control_inputs())
      RONDO_RETURN_IF_ERROR(look(before));
    return std::max(frame, 0);
  }

  int frame_entered(const Node& node, int from) {
    const auto& name = node.attrs().get<std::string>("frame_name");
    auto [at, is_new] = frames_.emplace(std::pair(from, name),
                                        static_cast<int>(plan_->frames.size()));
    if (is_new) {
      StepPlan::Frame frame;
      frame.parent = from;
      frame.parallel =
          static_cast<int>(node.attrs().get<int64_t>("parallel_iterations"));
      plan_->frames.push_back(std::move(frame));
    }
    return at->second;
  }

  Status add_item(const Node& node) {
    StepPlan::Item item;
    item.kind = kind_of(node);
    item.node = &node;
    RONDO_ASSIGN_OR_RETURN(item.frame, frame_of(node));
    if (item.kind == ItemKind::kKernel) {
      RONDO_ASSIGN_OR_RETURN(
          item.kernel, KernelRegistry::process().make(node, device_.kind(),
                                                      containers_.of(node)));
      item.async = dynamic_cast<AsyncKernel*>(item.kernel.get());
      plan_->has_async = plan_->has_async || item.async;
      item.scope = dynamic_cast<RunScope*>(item.kernel.get());
      if (item.scope) {
        plan_->scopes.push_back(item.scope);
        item.urgent = item.async != nullptr;
      }
      item.takes_layouts = item.kernel->takes_layouts();
      if (!device_.in_host_memory())
        item.host_sides = dynamic_cast<const HostSides*>(item.kernel.get());
    }
    item.urgent = item.urgent || item.kind == ItemKind::kSend;
    if (item.kind == ItemKind::kSend || item.kind == ItemKind::kRecv)
      item.crossing = std::make_unique<Crossing>(node);
    // What comes from other devices comes in their own time.
    plan_->has_async = plan_->has_async || item.kind == ItemKind::kRecv;
    const int number = static_cast<int>(plan_->items.size());
    if (item.kind == ItemKind::kEnter) {
      item.target_frame = frame_entered(node, item.frame);
      item.constant = node.attrs().get<bool>("is_constant");
      ++plan_->frames[static_cast<size_t>(item.target_frame)].enters;
    }
    StepPlan::Frame& frame = plan_->frames[static_cast<size_t>(item.frame)];
    if (item.frame == 0 &&
        (item.kind == ItemKind::kExit || item.kind == ItemKind::kNext))
      return error(Code::kInvalidArgument,
                   "{}: what it takes is not within a loop; values within a "
                   "loop cannot be fed",
                   node.describe());
    if (item.kind == ItemKind::kExit) {
      item.target_frame = frame.parent;
      frame.exits.push_back(number);
    }
    item.local = static_cast<int>(frame.items.size());
    frame.items.push_back(number);
    item.inputs = static_cast<int>(node.inputs().size());
    item.outputs = static_cast<int>(node.outputs().size());
    item.first_slot = frame.slots;
    frame.slots += item.inputs;
    const int controls = static_cast<int>(node.control_inputs().size());
    item.waits_for =
        item.kind == ItemKind::kMerge ? controls : item.inputs + controls;
    frame.waits.push_back(item.waits_for);
    item_of_[id(&node)] = number;
    plan_->items.push_back(std::move(item));
    return {};
  }

  void collect_edges() {
    out_.resize(plan_->items.size());
    auto add = [&](const Node* from, StepPlan::Edge edge) {
      if (const int feed = feed_of_[id(from)]; feed >= 0)
        plan_->feeds[static_cast<size_t>(feed)].push_back(edge);
      else
        out_[static_cast<size_t>(item_of_[id(from)])].push_back(edge);
    };
    for (size_t i = 0; i < plan_->items.size(); ++i) {
      const StepPlan::Item& item = plan_->items[i];
      const auto number = static_cast<int>(i);
      for (int k = 0; k < item.inputs; ++k) {
        const Value& input = item.node->input(k);
        add(input.node, {number, item.first_slot + k, input.index});
      }
      for (const Node* before : item.node->control_inputs())
        add(before, {number, StepPlan::kControl, StepPlan::kControl});
    }
    const auto& fetches = plan_->subgraph.fetches;
    for (size_t i = 0; i < fetches.size(); ++i)
      add(fetches[i].node,
          {StepPlan::kFetch, static_cast<int>(i), fetches[i].index});
  }

  // An item's edges side by side. Those of one output are in order, so that the
  // last of them can take the tensor itself.
  void lay_out_edges() {
    for (size_t i = 0; i < plan_->items.size(); ++i) {
      StepPlan::Item& item = plan_->items[i];
      item.first_edge = static_cast<int>(plan_->edges.size());
      item.edges = static_cast<int>(out_[i].size());
      std::stable_sort(out_[i].begin(), out_[i].end(),
                       [](const StepPlan::Edge& a, const StepPlan::Edge& b) {
                         return a.output < b.output;
                       });
      plan_->edges.insert(plan_->edges.end(), out_[i].begin(), out_[i].end());
    }
  }

  const Device& device_;
  Containers& containers_;
  std::unique_ptr<StepPlan> plan_;
  const std::vector<Node*> order_;
  std::vector<int> item_of_;  // by node id
  std::vector<int> feed_of_;  // by node id
  std::map<std::pair<int, std::string>, int> frames_;
  std::vector<std::vector<StepPlan::Edge>> out_;
};

}  // namespace

Result<std::unique_ptr<StepPlan>> compile(Subgraph subgraph,
                                          const Device& device,
                                          Containers& containers) {
  return Compiler(std::move(subgraph), device, containers).run();
}

}  // namespace rondo
