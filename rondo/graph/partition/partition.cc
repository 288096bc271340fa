#include "rondo/graph/partition/partition.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "rondo/graph/frames.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/transfer.h"

namespace rondo {
namespace {

// So that the parts do not depend on the order of fetches.
std::vector<Node*> in_order_of_creation(std::vector<Node*> nodes) {
  std::ranges::sort(nodes, {}, &Node::id);
  return nodes;
}

class Partitioner {
 public:
  Partitioner(const Subgraph& whole, const PartitionOptions& options)
      : whole_(whole),
        options_(options),
        order_(in_order_of_creation(ordered_nodes(whole))),
        feed_of_(whole.graph->nodes().size(), -1),
        frames_(*whole.graph) {
    for (size_t i = 0; i < whole.feeds.size(); ++i)
      feed_of_[id(whole.feeds[i].node)] = static_cast<int>(i);
  }

  std::vector<GraphPart> run() {
    make_parts();
    for (const Node* node : order_)
      if (!is_feed(node)) join(*node);
    hand_out_fetches();
    return std::move(parts_);
  }

 private:
  static size_t id(const Node* node) { return static_cast<size_t>(node->id()); }
  bool is_feed(const Node* node) const { return feed_of_[id(node)] >= 0; }
  GraphPart& part_of(const Node& node) {
    return parts_[place_.at(node.device())];
  }
  static Node* twin(const GraphPart& part, const Node& node) {
    return part.subgraph.graph->find(node.name());
  }

  // One part for each device, with the nodes that are there and the feeds that
  // they take.
  void make_parts() {
    std::map<std::string, std::vector<bool>> wanted;
    auto want = [&](const std::string& device, const Node* node) {
      auto& nodes = wanted[device];
      nodes.resize(whole_.graph->nodes().size());
      nodes[id(node)] = true;
    };
    for (const Node* node : order_) {
      if (is_feed(node)) continue;
      if (node->device().empty())
        throw Error(Code::kInternal,
                    fmt::format("{} has no device", node->describe()));
      want(node->device(), node);
      for (const Value& input : node->inputs())
        if (is_feed(input.node)) want(node->device(), input.node);
    }
    // What is fed and fetched need not be anywhere else.
    for (const Value& fetch : whole_.fetches)
      if (is_feed(fetch.node))
        want(fetched_feed_device(*fetch.node), fetch.node);
    for (const auto& [device, nodes] : wanted) {
      place_[device] = parts_.size();
      GraphPart part;
      part.device = device;
      part.subgraph.graph = whole_.graph->clone_of(nodes);
      for (size_t i = 0; i < whole_.feeds.size(); ++i) {
        Node* node = twin(part, *whole_.feeds[i].node);
        if (!node) continue;
        part.subgraph.feeds.push_back(node->output());
        part.feeds.push_back(static_cast<int>(i));
      }
      parts_.push_back(std::move(part));
    }
  }

  // The device of a part that takes it anyway, or else its own.
  std::string fetched_feed_device(const Node& feed) const {
    std::string least;
    for (const Node* node : order_)
      for (const Value& input : node->inputs())
        if (input.node == &feed && (least.empty() || node->device() < least))
          least = node->device();
    if (!least.empty()) return least;
    if (feed.device().empty())
      throw Error(Code::kInternal,
                  fmt::format("{} has no device", feed.describe()));
    return feed.device();
  }

  // Puts what `node` takes from other devices into its part.
  void join(const Node& node) {
    GraphPart& part = part_of(node);
    Node* here = twin(part, node);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value& input = node.inputs()[i];
      if (is_feed(input.node) || input.node->device() == node.device())
        continue;
      check_frame(*input.node, node);
      here->set_input(static_cast<int>(i), received(input, part));
    }
    for (const Node* before : node.control_inputs()) {
      if (before->device() == node.device()) continue;
      check_frame(*before, node);
      here->add_control_input(*told(*before, part));
    }
  }

  void check_frame(const Node& before, const Node& node) {
    if (frames_.of(before) == 0) return;
    throw Error(
        Code::kInvalidArgument,
        fmt::format("{} is on {} and takes {} on {} within a loop: all nodes "
                    "of a loop have to be on one device",
                    node.describe(), node.device(), before.describe(),
                    before.device()));
  }

  static std::string base_name(const Value& value) {
    return value.index == 0
               ? value.node->name()
               : fmt::format("{}_{}", value.node->name(), value.index);
  }

  Value received(const Value& value, GraphPart& to) {
    Value& there = received_[{value.node->id(), value.index, to.device}];
    if (there) return there;
    GraphPart& from = part_of(*value.node);
    const bool narrow = options_.bf16 && value.dtype() == DType::kF32;
    there = cut({twin(from, *value.node), value.index}, value.shape(), from, to,
                {.tensor = value.name(),
                 .from = from.device,
                 .to = to.device,
                 .dtype = value.dtype(),
                 .wire = narrow ? DType::kBF16 : value.dtype()},
                base_name(value));
    return there;
  }

  // A node of part `to` that runs when `before` has, and is dead when that is.
  Node* told(const Node& before, GraphPart& to) {
    Value& there = received_[{before.id(), kControl, to.device}];
    if (there) return there.node;
    GraphPart& from = part_of(before);
    Value& token = tokens_[before.id()];
    if (!token) {
      Node& made = from.subgraph.graph->add(
          {.op = "Const",
           .attrs = {{"value", Tensor::full(Shape{}, true)}},
           .name = fmt::format("{}/done", before.name()),
           .control_inputs = {twin(from, before)}});
      made.set_device(from.device);
      token = made.output();
    }
    there = cut(token, PartialShape::scalar(), from, to,
                {.tensor = fmt::format("^{}", before.name()),
                 .from = from.device,
                 .to = to.device,
                 .dtype = DType::kBool,
                 .wire = DType::kBool},
                fmt::format("{}/done", before.name()));
    return there.node;
  }

  static Value cut(Value value, const PartialShape& shape, GraphPart& from,
                   GraphPart& to, const TensorTransfer& transfer,
                   const std::string& name) {
    from.subgraph.targets.push_back(
        &send(value, transfer, fmt::format("{}/send", name)));
    return recv(*to.subgraph.graph, shape, transfer,
                fmt::format("{}/recv", name));
  }

  void hand_out_fetches() {
    for (size_t i = 0; i < whole_.fetches.size(); ++i) {
      const Value& fetch = whole_.fetches[i];
      GraphPart& part =
          is_feed(fetch.node)
              ? parts_[place_.at(fetched_feed_device(*fetch.node))]
              : part_of(*fetch.node);
      part.subgraph.fetches.push_back({twin(part, *fetch.node), fetch.index});
      part.fetches.push_back(static_cast<int>(i));
    }
    for (const Node* target : whole_.targets) {
      GraphPart& part = part_of(*target);
      part.subgraph.targets.push_back(twin(part, *target));
    }
  }

  static constexpr int kControl = -1;

  const Subgraph& whole_;
  const PartitionOptions options_;
  const std::vector<Node*> order_;
  std::vector<int> feed_of_;  // by node id
  Frames frames_;
  std::vector<GraphPart> parts_;
  std::map<std::string, size_t> place_;  // in parts_, by device
  // By node id, output (or kControl) and the device that takes it.
  std::map<std::tuple<int, int, std::string>, Value> received_;
  std::map<int, Value> tokens_;  // by node id: what tells that it has run
};

}  // namespace

std::vector<GraphPart> partition(const Subgraph& whole,
                                 const PartitionOptions& options) {
  return Partitioner(whole, options).run();
}

}  // namespace rondo
