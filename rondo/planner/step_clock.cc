#include "rondo/planner/step_clock.h"

#include <algorithm>

#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

constexpr double kNever = -1;

}  // namespace

StepClock::StepClock(const TrainingStep& step, const NodeTimes& times)
    : seconds_(total_seconds(times)),
      done_(step.graph->nodes().size(), kNever) {
  const auto done_of = [this](const Node& node) -> double& {
    return done_[static_cast<size_t>(node.id())];
  };
  double now = 0;
  for (const NodeTime& one : times) {
    if (is_update(*one.node))
      updates_[updated_by(*one.node)] += one.seconds;
    else
      now += one.seconds;
    done_of(*one.node) = now;
  }
  // Users come behind what they use, but in loops.
  std::vector<double> first_use(done_.size(), kNever);
  const std::vector<Node*> needed = step.needed();
  for (auto node = needed.rbegin(); node != needed.rend(); ++node) {
    double& done = done_of(**node);
    if (done == kNever) done = first_use[static_cast<size_t>((*node)->id())];
    if (done == kNever || is_update(**node)) continue;
    for (const Value& input : (*node)->inputs()) {
      double& first = first_use[static_cast<size_t>(input.node->id())];
      first = first == kNever ? done : std::min(first, done);
    }
  }
  for (const Node* node : needed) {
    double& done = done_of(*node);
    if (done != kNever) continue;
    done = 0;
    for (const Value& input : node->inputs())
      done = std::max(done, done_of(*input.node));
  }
}

double StepClock::share(const Node& node) const {
  const auto id = static_cast<size_t>(node.id());
  if (seconds_ <= 0 || id >= done_.size() || done_[id] == kNever) return 1;
  return done_[id] / seconds_;
}

double StepClock::update_share(const Value& variable) const {
  const auto at = updates_.find(variable_name(variable));
  return seconds_ > 0 && at != updates_.end() ? at->second / seconds_ : 0;
}

}  // namespace rondo
