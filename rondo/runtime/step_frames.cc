// The part of Step that runs loops: frames, their iterations, and what goes in
// and out.
#include <algorithm>
#include <utility>

#include "rondo/runtime/step.h"

namespace rondo {
namespace {

// One that is over, or a new one.
template <class T>
std::unique_ptr<T> take(std::vector<std::unique_ptr<T>>& spare) {
  if (spare.empty()) return std::make_unique<T>();
  std::unique_ptr<T> taken = std::move(spare.back());
  spare.pop_back();
  return taken;
}

}  // namespace

Iteration& Step::add_iteration(FrameRun& frame) {
  const auto at = static_cast<size_t>(frame.frame);
  const StepPlan::Frame& plan = plan_.frames[at];
  auto iteration = take(spare_iterations_[at]);
  iteration->number = frame.next_number++;
  iteration->slots.resize(static_cast<size_t>(plan.slots));
  iteration->waits = plan.waits;
  iteration->dead.assign(plan.items.size(), 0);
  iteration->has_live.assign(plan.items.size(), 0);
  frame.live.push_back(std::move(iteration));
  Iteration& made = *frame.live.back();
  for (const FrameRun::Token& token : frame.constants)
    to_edges(frame, made, token.item, token.tensor, token.dead);
  return made;
}

void Step::to_edges(FrameRun& frame, Iteration& iteration, int number,
                    const Tensor& tensor, bool dead) {
  const StepPlan::Item& it = item(number);
  for (size_t e = 0; e < edges_of(it).size(); ++e) {
    const StepPlan::Edge& edge = edges_of(it)[e];
    const bool empty = dead || edge.output == StepPlan::kControl;
    deliver(frame, iteration, edge, empty ? Tensor() : tensor, dead,
            it.kind == ItemKind::kEnter);
  }
}

FrameRun& Step::child_of(FrameRun& frame, Iteration& iteration, int target) {
  for (const auto& child : iteration.children)
    if (child->frame == target) return *child;
  auto child = take(spare_frames_[static_cast<size_t>(target)]);
  child->frame = target;
  child->next_number = 0;
  child->parent = &frame;
  child->parent_iteration = &iteration;
  const StepPlan::Frame& plan = plan_.frames[static_cast<size_t>(target)];
  child->enters_left = plan.enters;
  child->left.assign(plan.exits.size(), 0);
  iteration.children.push_back(std::move(child));
  add_iteration(*iteration.children.back());
  return *iteration.children.back();
}

void Step::enter(const Ready& ready, const Tensor& tensor) {
  const StepPlan::Item& it = item(ready.item);
  FrameRun& child = child_of(*ready.frame, *ready.iteration, it.target_frame);
  if (it.constant) {
    child.constants.push_back({ready.item, tensor, ready.dead});
    for (size_t i = 0; i < child.live.size(); ++i)
      to_edges(child, *child.live[i], ready.item, tensor, ready.dead);
  } else {
    to_edges(child, *child.live.front(), ready.item, tensor, ready.dead);
  }
  if (--child.enters_left == 0 && child.live.front()->in_progress == 0)
    clean_up(child);
}

void Step::leave(const Ready& ready, const Tensor& tensor) {
  // A dead exit may only mean that the loop goes on.
  if (ready.dead) return;
  FrameRun& frame = *ready.frame;
  const auto& exits = plan_.frames[static_cast<size_t>(frame.frame)].exits;
  const auto at = std::find(exits.begin(), exits.end(), ready.item);
  frame.left[static_cast<size_t>(at - exits.begin())] = 1;
  to_edges(*frame.parent, *frame.parent_iteration, ready.item, tensor, false);
}

void Step::next(const Ready& ready, const Tensor& tensor) {
  if (ready.dead) return;
  FrameRun& frame = *ready.frame;
  const int number = ready.iteration->number + 1;
  if (number == frame.next_number) {
    const auto most = static_cast<size_t>(
        plan_.frames[static_cast<size_t>(frame.frame)].parallel);
    if (frame.live.size() >= std::max<size_t>(1, most)) {
      frame.deferred.push_back({ready.item, tensor, false});
      return;
    }
    add_iteration(frame);
  }
  const auto at = static_cast<size_t>(number - frame.live.front()->number);
  to_edges(frame, *frame.live[at], ready.item, tensor, false);
}

void Step::drop_oldest(FrameRun& frame) {
  std::unique_ptr<Iteration> oldest = std::move(frame.live.front());
  frame.live.erase(frame.live.begin());
  // What nobody took.
  for (Tensor& slot : oldest->slots) slot.release();
  spare_iterations_[static_cast<size_t>(frame.frame)].push_back(
      std::move(oldest));
}

// A frame without iterations.
void Step::drop(FrameRun& frame) {
  auto& around = frame.parent_iteration->children;
  const auto at = std::find_if(around.begin(), around.end(), [&](auto& child) {
    return child.get() == &frame;
  });
  std::unique_ptr<FrameRun> gone = std::move(*at);
  around.erase(at);
  gone->constants.clear();
  spare_frames_[static_cast<size_t>(gone->frame)].push_back(std::move(gone));
}

// Drops iterations, oldest first, in which nothing can happen any more, lets
// those that had to wait begin, and ends the frame when none is left.
void Step::clean_up(FrameRun& frame) {
  while (!frame.live.empty()) {
    const Iteration& oldest = *frame.live.front();
    if (oldest.in_progress > 0 || !oldest.children.empty() ||
        (oldest.number == 0 && frame.enters_left > 0))
      return;
    // Tokens for the iteration behind the newest were all deferred, or none.
    std::swap(frame.deferred, frame.resumed);
    if (!frame.resumed.empty()) {
      Iteration& fresh = add_iteration(frame);
      for (const FrameRun::Token& token : frame.resumed)
        to_edges(frame, fresh, token.item, token.tensor, false);
      frame.resumed.clear();
    }
    drop_oldest(frame);
  }
  FrameRun* parent = frame.parent;
  Iteration& around = *frame.parent_iteration;
  const auto& exits = plan_.frames[static_cast<size_t>(frame.frame)].exits;
  for (size_t i = 0; i < exits.size(); ++i)
    if (!frame.left[i]) to_edges(*parent, around, exits[i], Tensor(), true);
  drop(frame);
  if (parent->parent && around.in_progress == 0) clean_up(*parent);
}

}  // namespace rondo
