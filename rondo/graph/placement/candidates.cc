#include "rondo/graph/placement/candidates.h"

#include <algorithm>
#include <unordered_map>

#include "rondo/graph/placement/resources.h"

namespace rondo {
namespace {

using Set = std::vector<int>;  // of devices, in order

Set both(const Set& a, const Set& b) {
  Set out;
  std::ranges::set_intersection(a, b, std::back_inserter(out));
  return out;
}

// What one node allows.
struct Wish {
  bool asks = false;  // for a device, which was not given up
  Set devices;
  Set with_kernel;
};

// Groups as they are found: their nodes, and what all of them allow.
struct Draft {
  std::vector<const Node*> nodes;
  Set devices;
};

class Finder {
 public:
  Finder(const Graph& graph, const PlacementRequest& request,
         Colocation& together)
      : graph_(graph), request_(request), together_(together) {}

  Result<Candidates> find() {
    wishes_.resize(graph_.nodes().size());
    for (const auto& node : graph_.nodes())
      RONDO_RETURN_IF_ERROR(look_at(*node));
    for (const auto& node : graph_.nodes())
      drafts_[together_.group_of(node->id())].nodes.push_back(node.get());
    // In the order of the nodes, so that the first error is always the same.
    for (const auto& node : graph_.nodes())
      if (auto at = drafts_.find(node->id()); at != drafts_.end())
        RONDO_RETURN_IF_ERROR(narrow(at->second));
    RONDO_RETURN_IF_ERROR(join_by_task());
    return finish();
  }

 private:
  Wish& wish(const Node& node) {
    return wishes_[static_cast<size_t>(node.id())];
  }
  std::string device(int d) const {
    return request_.devices[static_cast<size_t>(d)].name.to_string();
  }
  std::string names(const Set& devices) const {
    std::string text;
    for (size_t i = 0; i < devices.size() && i < 8; ++i)
      text += fmt::format("{}{}", i ? ", " : "", device(devices[i]));
    if (devices.size() > 8)
      text += fmt::format(" and {} more", devices.size() - 8);
    return text;
  }
  Set matching(const DeviceName& name) const {
    Set out;
    for (size_t d = 0; d < request_.devices.size(); ++d)
      if (name.matches(request_.devices[d].name))
        out.push_back(static_cast<int>(d));
    return out;
  }
  void note(std::string text) { notes_.push_back(std::move(text)); }

  // What a node allows by itself.
  Status look_at(const Node& node) {
    Wish& w = wish(node);
    for (size_t d = 0; d < request_.devices.size(); ++d)
      if (!request_.has_kernel ||
          request_.has_kernel(node, request_.devices[d]))
        w.with_kernel.push_back(static_cast<int>(d));
    if (w.with_kernel.empty())
      return error(Code::kInvalidArgument,
                   "no device has a kernel for {}; there are {}",
                   node.describe(), names(matching({})));
    auto name = DeviceName::parse(node.device());
    if (!name.ok())
      return Status(name.status().code(), fmt::format("{}: {}", node.describe(),
                                                      name.status().message()));
    const Set asked = matching(*name);
    w.devices = both(asked, w.with_kernel);
    w.asks = !node.device().empty();
    if (!w.devices.empty()) return {};
    const std::string cause =
        asked.empty()
            ? "but there is no such device"
            : fmt::format("which has no kernel for {}", node.op().name);
    if (!request_.soft)
      return error(Code::kInvalidArgument,
                   "{} asks for {}, {}; {}: {}. Ask for one of these, or allow "
                   "soft placement",
                   node.describe(), node.device(), cause,
                   asked.empty() ? "there are" : "others have one",
                   names(asked.empty() ? matching({}) : w.with_kernel));
    fall_back(node, *name, cause);
    return {};
  }

  // To another device of the task that was asked for, or to any.
  void fall_back(const Node& node, DeviceName name, const std::string& cause) {
    Wish& w = wish(node);
    name.type.reset();
    name.index.reset();
    w.devices = both(matching(name), w.with_kernel);
    w.asks = !w.devices.empty() && (name.job || name.task);
    if (w.devices.empty()) w.devices = w.with_kernel;
    note(fmt::format("{} asks for {}, {}: soft placement allows {}",
                     node.describe(), node.device(), cause, names(w.devices)));
  }

  // Whether the node's wish gives way to that of the variable it uses.
  bool gives_way(const Node& node) {
    const Tie& tie = together_.tie(node.id());
    return tie.follows && tie.to && wish(*tie.to).asks;
  }

  // What the members of a group allow together. Those that others follow come
  // first.
  Status narrow(Draft& draft) {
    draft.devices = matching({});
    std::vector<const Node*> order = draft.nodes;
    // (Not std::ranges's, which clang 14 does not compile.)
    std::stable_partition(order.begin(), order.end(),
                          [&](const Node* node) { return !gives_way(*node); });
    for (const Node* node : order)
      draft.devices = both(draft.devices, wish(*node).with_kernel);
    if (draft.devices.empty()) return no_common_kernel(draft);
    for (const Node* node : order) {
      Wish& w = wish(*node);
      if (!w.asks) continue;
      Set left = both(draft.devices, w.devices);
      if (!left.empty()) {
        draft.devices = std::move(left);
      } else if (gives_way(*node) || request_.soft) {
        w.asks = false;
        const Tie& tie = together_.tie(node->id());
        note(fmt::format(
            "{} asks for {}, which does not count: it has to be on {}{}",
            node->describe(), node->device(), names(draft.devices),
            tie.to
                ? fmt::format(", with {} ({})", tie.to->describe(), tie.because)
                : ""));
      } else {
        return contradiction(draft, *node);
      }
    }
    return {};
  }

  // "Assign \"a\" (t.py:3) asks for /cpu:1; it is with \"w\": the same …".
  std::string line(const Node& node, const std::string& what) {
    std::string text = fmt::format("\n  {} {}", node.describe(), what);
    if (const Tie& tie = together_.tie(node.id()); tie.to)
      text +=
          fmt::format("; it is with \"{}\": {}", tie.to->name(), tie.because);
    return text;
  }

  static constexpr std::string_view kTogether =
      "these nodes have to be on one device, and no device suits all:";

  // `last` is the first that leaves nothing; if there is one that it alone
  // cannot be with, that one is named, else all before it that ask.
  Status contradiction(const Draft& draft, const Node& last) {
    std::string text(kTogether);
    const auto asks = [&](const Node& node) {
      return line(node, "asks for " + node.device());
    };
    std::string all;
    const Node* other = nullptr;
    for (const Node* node : draft.nodes) {
      if (node == &last || !wish(*node).asks) continue;
      if (!other && both(wish(*node).devices, wish(last).devices).empty())
        other = node;
      if (all.size() < 1000) all += asks(*node);
    }
    text += other ? asks(*other) : all;
    text += asks(last);
    // The tie of the first of a group is told by those that joined it, so the
    // nodes between the two may be what joins them.
    return error(Code::kInvalidArgument,
                 "{}\nAsk for the same device, for none, or allow soft "
                 "placement",
                 text);
  }

  Status no_common_kernel(const Draft& draft) {
    std::string text(kTogether);
    Set left = matching({});
    for (const Node* node : draft.nodes) {
      const Set less = both(left, wish(*node).with_kernel);
      if (less.size() < left.size())
        text += line(*node, fmt::format("has kernels on {}",
                                        names(wish(*node).with_kernel)));
      left = less;
      if (left.empty()) break;
    }
    return error(Code::kInvalidArgument, "{}", text);
  }

  Set tasks_of(const Set& devices) const {
    Set out;
    for (int d : devices) out.push_back(task_of(d));
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  // A task is named by its first device.
  int task_of(int d) const {
    const DeviceName& name = request_.devices[static_cast<size_t>(d)].name;
    return matching({.job = name.job, .task = name.task})[0];
  }

  // An AssignAll sets variables of one process: on its own device where it can
  // be, else on others of the task.
  Status join_by_task() {
    std::unordered_map<std::string, const Node*> owners;
    for (const auto& node : graph_.nodes())
      for (const ResourceUse& use : resources_of_node(*node))
        if (use.kind == "variable" && !use.task_only)
          owners.emplace(use.name, node.get());
    for (const auto& node : graph_.nodes())
      for (const ResourceUse& use : resources_of_node(*node))
        if (use.task_only && owners.contains(use.name))
          RONDO_RETURN_IF_ERROR(share_task(*node, *owners[use.name]));
    return {};
  }

  Status share_task(const Node& node, const Node& owner) {
    const int a = together_.group_of(node.id());
    const int b = together_.group_of(owner.id());
    if (a == b) return {};
    Draft& ours = drafts_[a];
    Draft& theirs = drafts_[b];
    Set common = both(ours.devices, theirs.devices);
    if (!common.empty()) {
      together_.join(owner.id(), node.id(), "set by the same AssignAll");
      const int joined = together_.group_of(owner.id());
      Draft& into = joined == a ? ours : theirs;
      Draft& from = joined == a ? theirs : ours;
      into.nodes.insert(into.nodes.end(), from.nodes.begin(), from.nodes.end());
      std::ranges::sort(into.nodes, {}, &Node::id);
      into.devices = std::move(common);
      drafts_.erase(joined == a ? b : a);
      return {};
    }
    const Set tasks = both(tasks_of(ours.devices), tasks_of(theirs.devices));
    if (tasks.empty())
      return error(Code::kInvalidArgument,
                   "{} sets variables at once that are in different "
                   "processes: it is on {}, and {} on {}. Set those of each "
                   "process on their own",
                   node.describe(), names(ours.devices), owner.describe(),
                   names(theirs.devices));
    for (Draft* draft : {&ours, &theirs})
      std::erase_if(draft->devices,
                    [&](int d) { return task_of(d) != tasks[0]; });
    return {};
  }

  // Where the state of the group is by an earlier placement; -1: nowhere.
  int kept_at(const Draft& draft, bool& stateful) {
    int at = -1;
    for (const Node* node : draft.nodes)
      for (const ResourceUse& use : resources_of_node(*node)) {
        if (!use.kept || use.task_only) continue;
        stateful = true;
        if (!request_.previous || at >= 0) continue;
        const auto found = request_.previous->state.find(to_string(use));
        if (found == request_.previous->state.end()) continue;
        for (size_t d = 0; d < request_.devices.size(); ++d)
          if (device(static_cast<int>(d)) == found->second)
            at = static_cast<int>(d);
        if (at < 0)
          note(fmt::format("{} was on {}, which is gone, and so is its state",
                           to_string(use), found->second));
      }
    return at;
  }

  std::string why_only(const Draft& draft) {
    for (const Node* node : draft.nodes)
      if (wish(*node).asks)
        return draft.nodes.size() == 1
                   ? fmt::format("asked for: {}", node->device())
                   : fmt::format("asked for by \"{}\": {}", node->name(),
                                 node->device());
    return "no other device has a kernel";
  }

  Result<Candidates> finish() {
    Candidates out;
    out.group_of.assign(graph_.nodes().size(), -1);
    // Groups are numbered in the order of their first nodes.
    for (const auto& node : graph_.nodes()) {
      if (out.group_of[static_cast<size_t>(node->id())] >= 0) continue;
      Draft& draft = drafts_.at(together_.group_of(node->id()));
      NodeGroup group;
      const int kept = kept_at(draft, group.stateful);
      if (kept >= 0) {
        group.why = "its state is there already";
        if (!std::ranges::binary_search(draft.devices, kept))
          note(fmt::format(
              "{} may be on {} only, but its state is on {}, "
              "where it stays",
              node->describe(), names(draft.devices), device(kept)));
        draft.devices = {kept};
      } else if (draft.devices.size() == 1) {
        group.why =
            request_.devices.size() == 1 ? "the only device" : why_only(draft);
      }
      for (const Node* member : draft.nodes)
        out.group_of[static_cast<size_t>(member->id())] =
            static_cast<int>(out.groups.size());
      group.nodes = std::move(draft.nodes);
      group.devices = std::move(draft.devices);
      out.groups.push_back(std::move(group));
    }
    out.notes = std::move(notes_);
    return out;
  }

  const Graph& graph_;
  const PlacementRequest& request_;
  Colocation& together_;
  std::vector<Wish> wishes_;               // by node id
  std::unordered_map<int, Draft> drafts_;  // by Colocation::group_of
  std::vector<std::string> notes_;
};

}  // namespace

Result<Candidates> find_candidates(const Graph& graph,
                                   const PlacementRequest& request,
                                   Colocation& together) {
  return Finder(graph, request, together).find();
}

}  // namespace rondo
