#include "rondo/trainer/step_looks.h"

#include <algorithm>

namespace rondo {

double StepLooks::add(const std::vector<Timeline::Event>& events) {
  StepWaits waits = step_waits(events);
  const double share = waits.share();
  if (waits.step_us <= 0) return share;
  if (looks_.size() < kMost)
    looks_.push_back(std::move(waits));
  else
    looks_[next_] = std::move(waits);
  next_ = (next_ + 1) % kMost;
  return share;
}

Result<WaitShares> StepLooks::divided(Crew& crew, bool in_step) const {
  std::vector<double> mine;
  for (const StepWaits& look : looks_)
    mine.insert(mine.end(), look.exchange_us.begin(), look.exchange_us.end());
  if (!in_step) return divide_waits(looks_, mine, 1);
  const auto count = static_cast<double>(mine.size());
  RONDO_ASSIGN_OR_RETURN(const std::vector<double> counts,
                         crew.gather({&count, 1}));
  // A worker that saw other exchanges has nothing to compare with.
  if (count == 0 || std::ranges::count(counts, count) != crew.size())
    return divide_waits(looks_, mine, 1);
  RONDO_ASSIGN_OR_RETURN(const std::vector<double> all, crew.gather(mine));
  return divide_waits(looks_, all, crew.size());
}

}  // namespace rondo
