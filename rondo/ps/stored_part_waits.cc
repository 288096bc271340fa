// Whom a StoredPart waits for, and when there is no use in it any more.
#include <algorithm>

#include "rondo/ps/stored_part.h"

namespace rondo {

std::vector<int> StoredPart::awaited(int64_t step) const {
  std::vector<int> late;
  if (rules_.mode == KvMode::kAsync) return late;
  if (rules_.mode == KvMode::kSync && version_ >= step) return late;
  const auto pushed = steps_.find(version_ + 1);
  for (int worker = 0; worker < rules_.workers; ++worker) {
    if (members_.left(worker)) continue;
    const bool here =
        rules_.mode == KvMode::kSync
            ? pushed != steps_.end() && pushed->second.contains(worker)
            : counted_[static_cast<size_t>(worker)] >= step - rules_.staleness;
    if (!here) late.push_back(worker);
  }
  return late;
}

Status StoredPart::hopeless(int64_t step, const Deadline& deadline) const {
  const std::vector<int> late = awaited(step);
  const auto lost = std::count_if(late.begin(), late.end(), [&](int worker) {
    return members_.lost(worker);
  });
  const bool fails = lost > (rules_.mode == KvMode::kSync ? rules_.backup : 0);
  if (!fails && !deadline.passed()) return {};
  std::string names;
  for (const int worker : late) {
    if (fails && !members_.lost(worker)) continue;
    if (!names.empty()) names += ", ";
    names += members_.describe(worker);
  }
  if (fails)
    return error(Code::kPeerLost, "step {} of {} waits for {}, lost", step,
                 name(), names);
  if (!initialized_)
    return error(Code::kTimeout, "{} still has no initial value", name());
  return error(Code::kTimeout, "step {} of {} still waits for {}", step, name(),
               names.empty() ? "its turn" : names);
}

void StoredPart::look_after(Answers& answers) {
  const MutexLock lock(mutex_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const Status why = hopeless(at->step, at->deadline);
    if (why.ok()) {
      ++at;
      continue;
    }
    answers.add(std::move(at->answer), why);
    at = waiting_.erase(at);
  }
  for (auto& [sequence, step] : steps_)
    for (auto at = step.begin(); at != step.end();) {
      const Status why = hopeless(sequence, at->second.deadline);
      if (why.ok()) {
        ++at;
        continue;
      }
      answers.add(std::move(at->second.answer), why);
      at = step.erase(at);
    }
  std::erase_if(steps_, [](const auto& one) { return one.second.empty(); });
}

}  // namespace rondo
