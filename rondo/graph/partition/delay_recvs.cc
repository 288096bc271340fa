#include "rondo/graph/partition/delay_recvs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "rondo/graph/frames.h"

namespace rondo {
namespace {

// Of a core, where nobody has measured.
constexpr double kFlopsPerSecond = 20e9;
constexpr double kBytesPerSecond = 10e9;

double time_by_cost(const Node& node) {
  const OpCost cost = cost_of(node);
  return cost.flops / kFlopsPerSecond + cost.bytes / kBytesPerSecond;
}

bool may_be_dead_by_itself(const Node& node) {
  const std::string_view op = node.op().name;
  return op == "Switch" || op == "StackRead" || op == "MeanOfRuns" ||
         op == "RowsOfRuns";
}

// A node of any part, with its times. ALAP times count back from the step's
// end, so they are negative or 0.
struct Timed {
  Node* node = nullptr;
  size_t part = 0;
  double seconds = 0;
  std::vector<size_t> before;
  std::vector<size_t> after;
  double asap_end = 0;
  double alap_end = 0;
  bool may_be_dead = false;
  double alap_begin() const { return alap_end - seconds; }
};

class Schedule {
 public:
  Schedule(const std::vector<GraphPart>& parts, const DelayOptions& options) {
    for (size_t p = 0; p < parts.size(); ++p) {
      frames_.emplace_back(*parts[p].subgraph.graph);
      for (Node* node : ordered_nodes(parts[p].subgraph)) add(node, p, options);
    }
    for (size_t i = 0; i < nodes_.size(); ++i) connect(i);
    const std::vector<size_t> order = topological();
    for (const size_t i : order) set_asap(nodes_[i]);
    for (auto at = order.rbegin(); at != order.rend(); ++at)
      set_alap(nodes_[*at]);
  }

  void delay_all() {
    for (size_t i = 0; i < nodes_.size(); ++i)
      if (is_recv(*nodes_[i].node) && nodes_[i].seconds > 0) delay(i);
  }

 private:
  void add(Node* node, size_t part, const DelayOptions& options) {
    Timed timed;
    timed.node = node;
    timed.part = part;
    if (is_recv(*node)) {
      const TensorTransfer transfer = TensorTransfer::of(*node);
      const TensorType wire{transfer.wire, node->outputs()[0].shape};
      timed.seconds = options.transfer_time
                          ? options.transfer_time(transfer, bytes_of(wire))
                          : 0;
    } else if (!is_send(*node)) {
      timed.seconds =
          options.run_time ? options.run_time(*node) : time_by_cost(*node);
    }
    if (is_send(*node))
      send_of_[TensorTransfer::of(*node).key()] = nodes_.size();
    number_[node] = nodes_.size();
    nodes_.push_back(std::move(timed));
  }

  void connect(size_t i) {
    auto edge = [&](size_t from) {
      nodes_[i].before.push_back(from);
      nodes_[from].after.push_back(i);
    };
    const Node& node = *nodes_[i].node;
    for (const Value& input : node.inputs())
      if (input.node->op().name != "NextIteration")
        edge(number_.at(input.node));
    for (const Node* before : node.control_inputs()) edge(number_.at(before));
    if (!is_recv(node)) return;
    const auto send = send_of_.find(TensorTransfer::of(node).key());
    if (send != send_of_.end()) edge(send->second);
  }

  std::vector<size_t> topological() const {
    std::vector<size_t> waits(nodes_.size());
    std::vector<size_t> order;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      waits[i] = nodes_[i].before.size();
      if (waits[i] == 0) order.push_back(i);
    }
    for (size_t k = 0; k < order.size(); ++k)
      for (const size_t next : nodes_[order[k]].after)
        if (--waits[next] == 0) order.push_back(next);
    return order;
  }

  void set_asap(Timed& timed) {
    double begin = 0;
    timed.may_be_dead = may_be_dead_by_itself(*timed.node);
    for (const size_t i : timed.before) {
      begin = std::max(begin, nodes_[i].asap_end);
      timed.may_be_dead = timed.may_be_dead || nodes_[i].may_be_dead;
    }
    timed.asap_end = begin + timed.seconds;
  }

  void set_alap(Timed& timed) {
    for (const size_t i : timed.after)
      timed.alap_end = std::min(timed.alap_end, nodes_[i].alap_begin());
  }

  // By number, how many of the users of `recv` come after a node, each counted
  // once; nodes of other parts are not looked at.
  std::vector<int> users_behind(const Timed& recv) const {
    std::vector<int> count(nodes_.size());
    std::vector<int> seen_for(nodes_.size(), -1);
    int user_number = 0;
    for (const size_t user : recv.after) {
      std::vector<size_t> next = {user};
      seen_for[user] = user_number;
      while (!next.empty()) {
        const size_t at = next.back();
        next.pop_back();
        if (at != user) ++count[at];
        for (const size_t before : nodes_[at].before) {
          if (seen_for[before] == user_number ||
              nodes_[before].part != recv.part)
            continue;
          seen_for[before] = user_number;
          next.push_back(before);
        }
      }
      ++user_number;
    }
    return count;
  }

  void delay(size_t number) {
    const Timed& recv = nodes_[number];
    const auto users = static_cast<int>(recv.after.size());
    if (users == 0) return;
    const std::vector<int> behind = users_behind(recv);
    // Before its tensor is sent, there is nothing to wait longer for.
    double best = 0;
    for (const size_t i : recv.before)
      best = std::max(best, nodes_[i].asap_end);
    Node* chosen = nullptr;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Timed& candidate = nodes_[i];
      if (behind[i] != users || i == number || candidate.may_be_dead ||
          candidate.alap_end > recv.alap_begin() ||
          candidate.asap_end <= best ||
          frames_[candidate.part].of(*candidate.node) != 0)
        continue;
      best = candidate.asap_end;
      chosen = candidate.node;
    }
    if (chosen) recv.node->add_control_input(*chosen);
  }

  std::vector<Timed> nodes_;
  std::vector<Frames> frames_;  // by part
  std::unordered_map<const Node*, size_t> number_;
  std::map<std::string, size_t> send_of_;  // by key
};

}  // namespace

void delay_recvs(std::vector<GraphPart>& parts, const DelayOptions& options) {
  Schedule(parts, options).delay_all();
}

}  // namespace rondo
