#include "rondo/collectives/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace rondo {
namespace {

std::string_view name_of(Buffer buffer) {
  switch (buffer) {
    case Buffer::kInput: return "input";
    case Buffer::kOutput: return "output";
    case Buffer::kScratch: return "scratch";
  }
  return "?";
}

std::string to_text(const Range& range) {
  return fmt::format("{}[{},{})", name_of(range.buffer), range.offset,
                     range.offset + range.count);
}

// The part of an action's line between its step and its `after`.
std::string to_text(const Action& action) {
  std::string_view name = name_of(action.kind);
  switch (action.kind) {
    case ActionKind::kSend:
      return fmt::format("{} {} to {}", name, to_text(action.src), action.peer);
    case ActionKind::kRecv:
    case ActionKind::kRecvReduce:
      return fmt::format("{} {} from {}", name, to_text(action.dst),
                         action.peer);
    case ActionKind::kCopy:
      return fmt::format("{} {} to {}", name, to_text(action.src),
                         to_text(action.dst));
    case ActionKind::kReduce:
      return fmt::format("{} {} into {}", name, to_text(action.src),
                         to_text(action.dst));
    case ActionKind::kFinish:
      return fmt::format("{} {}", name, to_text(action.dst));
    case ActionKind::kSliceReduce:
      return fmt::format("{} {} of all into {} of {}", name,
                         to_text(action.src), to_text(action.dst),
                         action.peer < 0 ? "all" : std::to_string(action.peer));
    case ActionKind::kPull:
      return fmt::format("{} {} of {} to {}", name, to_text(action.src),
                         action.peer, to_text(action.dst));
    case ActionKind::kJoin:
    case ActionKind::kShare:
    case ActionKind::kFence: return std::string(name);
  }
  return "?";
}

int append(Plan& plan, const Action& action) {
  plan.actions.push_back(action);
  return static_cast<int>(plan.actions.size()) - 1;
}

}  // namespace

int Plan::send(int peer, Range src, int step, int after) {
  return append(*this, {ActionKind::kSend, peer, src, {}, after, step});
}

int Plan::recv(int peer, Range dst, int step, int after) {
  return append(*this, {ActionKind::kRecv, peer, {}, dst, after, step});
}

int Plan::recv_reduce(int peer, Range dst, int step, int after) {
  return append(*this, {ActionKind::kRecvReduce, peer, {}, dst, after, step});
}

int Plan::copy(Range src, Range dst, int step, int after) {
  return append(*this, {ActionKind::kCopy, -1, src, dst, after, step});
}

int Plan::reduce(Range src, Range dst, int step, int after) {
  return append(*this, {ActionKind::kReduce, -1, src, dst, after, step});
}

int Plan::finish(Range dst, int step, int after) {
  return append(*this, {ActionKind::kFinish, -1, {}, dst, after, step});
}

void Plan::join() { append(*this, Action{}); }

void Plan::share(int step) {
  append(*this, {ActionKind::kShare, -1, {}, {}, -1, step});
}

void Plan::slice_reduce(int peer, Range src, Range dst, int step) {
  append(*this, {ActionKind::kSliceReduce, peer, src, dst, -1, step});
}

void Plan::pull(int peer, Range src, Range dst, int step) {
  append(*this, {ActionKind::kPull, peer, src, dst, -1, step});
}

void Plan::fence(int step) {
  append(*this, {ActionKind::kFence, -1, {}, {}, -1, step});
}

int64_t Plan::elements_sent() const {
  int64_t sum = 0;
  for (const Action& action : actions) {
    if (action.kind == ActionKind::kSend) sum += action.src.count;
  }
  return sum;
}

int Plan::steps() const {
  int first = std::numeric_limits<int>::max();
  int last = -1;
  for (const Action& action : actions) {
    if (!is_message(action.kind)) continue;
    first = std::min(first, action.step);
    last = std::max(last, action.step);
  }
  return last < 0 ? 0 : last - first + 1;
}

std::string Plan::to_string() const {
  std::string text;
  for (const Action& action : actions) {
    if (action.kind == ActionKind::kJoin) {
      text += "join\n";
      continue;
    }
    text += fmt::format("step {}: {}", action.step, to_text(action));
    if (action.after >= 0) text += fmt::format(" after {}", action.after);
    text += '\n';
  }
  return text;
}

bool is_message(ActionKind kind) {
  return kind == ActionKind::kSend || kind == ActionKind::kRecv ||
         kind == ActionKind::kRecvReduce;
}

Part part_of(int64_t count, int parts, int i) {
  int64_t size = count / parts;
  int64_t longer = count % parts;
  return {i * size + std::min<int64_t>(i, longer), size + (i < longer ? 1 : 0)};
}

std::string_view name_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::kSend: return "send";
    case ActionKind::kRecv: return "recv";
    case ActionKind::kRecvReduce: return "recv_reduce";
    case ActionKind::kCopy: return "copy";
    case ActionKind::kReduce: return "reduce";
    case ActionKind::kFinish: return "finish";
    case ActionKind::kJoin: return "join";
    case ActionKind::kShare: return "share";
    case ActionKind::kSliceReduce: return "slice_reduce";
    case ActionKind::kPull: return "pull";
    case ActionKind::kFence: return "fence";
  }
  return "?";
}

}  // namespace rondo
