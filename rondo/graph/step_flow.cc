#include "rondo/graph/step_flow.h"

#include "rondo/graph/op.h"

namespace rondo {

StepFlow::StepFlow(const std::vector<Node*>& order, size_t nodes)
    : places_(nodes), placed_(nodes) {
  for (Node* node : order) {
    const std::string_view op = node->op().name;
    Place place = inputs_of(*node);
    if (op == "Enter") {
      const bool dead = place.may_be_dead;
      place.loop = entered(*node, place.loop);
      Loop& its = loop(place.loop);
      its.may_be_dead = its.may_be_dead || dead;
      if (!node->attrs().get<bool>("is_constant")) its.enters.push_back(node);
    } else if (op == "Exit" && place.loop != 0) {
      Loop& its = loop(place.loop);
      its.exits.push_back(node);
      place = {its.around, its.may_be_dead};
    } else if (op == "Await") {
      place.may_be_dead = false;
    } else if (op == "Recv" || op == "StackRead" || op == "MeanOfRuns" ||
               op == "RowsOfRuns") {
      // As what another part sends, or a loop has kept, or runs before.
      place.may_be_dead = true;
    }
    places_[static_cast<size_t>(node->id())] = place;
    placed_[static_cast<size_t>(node->id())] = true;
  }
}

// Edges that close loops come from nodes that have no place yet, and lead to
// where the others do.
StepFlow::Place StepFlow::inputs_of(const Node& node) const {
  Place place;
  const auto look = [&](const Node& before) {
    if (!placed_[static_cast<size_t>(before.id())]) return;
    place.loop = at(before).loop;
    place.may_be_dead = place.may_be_dead || at(before).may_be_dead;
  };
  for (const Value& input : node.inputs()) {
    look(*input.node);
    if (input.node->op().name == "Switch") place.may_be_dead = true;
  }
  for (const Node* before : node.control_inputs()) look(*before);
  return place;
}

int StepFlow::entered(const Node& enter, int around) {
  const auto& name = enter.attrs().get<std::string>("frame_name");
  const auto [at, fresh] = by_name_.emplace(std::pair(around, name),
                                            static_cast<int>(loops_.size()));
  if (fresh)
    loops_.push_back({.around = around, .depth = loop(around).depth + 1});
  return at->second;
}

StepFlow::Sides StepFlow::sides(Node& before, Node& after) const {
  Sides sides{{&before}, {&after}};
  int from = at(before).loop;
  int to = at(after).loop;
  while (from != to) {
    if (loop(from).depth > loop(to).depth) {
      sides.before = loop(from).exits;
      from = loop(from).around;
    } else {
      sides.after = loop(to).enters;
      to = loop(to).around;
    }
  }
  return sides;
}

}  // namespace rondo
