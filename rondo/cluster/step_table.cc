#include "rondo/cluster/step_table.h"

#include <utility>
#include <vector>

namespace rondo {
namespace {

// Peers end a step within a moment of each other, so late questions are about
// the steps that ended last.
constexpr size_t kRemembered = 4096;
// A step whose tensors are asked for begins within a moment, unless its master
// was lost.
constexpr Duration kMostBefore = std::chrono::minutes(5);

}  // namespace

// What the kernels of one run see.
class StepTable::StepRendezvous final : public Rendezvous {
 public:
  StepRendezvous(std::shared_ptr<StepTable> table, int64_t step)
      : table_(std::move(table)), step_(step) {}
  ~StepRendezvous() override { table_->finish(step_); }
  Status send(const std::string& key, Parcel parcel) override {
    return table_->send(step_, key, std::move(parcel));
  }
  void recv(const std::string& key, Done done) override {
    table_->recv(step_, key, std::move(done));
  }
  void abort(const Status& why) override { table_->abort(step_, why); }

 private:
  const std::shared_ptr<StepTable> table_;
  const int64_t step_;
};

StepTable::StepTable(std::function<bool(const std::string& key)> is_local,
                     FetchRemote remote)
    : is_local_(std::move(is_local)), remote_(std::move(remote)) {}

std::shared_ptr<Rendezvous> StepTable::rendezvous(int64_t step) {
  {
    const MutexLock lock(mutex_);
    if (!ended_.contains(step)) steps_[step].begun = true;
  }
  return std::make_shared<StepRendezvous>(shared_from_this(), step);
}

Status StepTable::over(int64_t step) const {
  const auto at = ended_.find(step);
  if (at == ended_.end()) return {};
  if (!at->second.ok()) return at->second;
  return error(Code::kCancelled, "step {} is over on this task", step);
}

Status StepTable::send(int64_t step, const std::string& key,
                       Rendezvous::Parcel parcel) {
  Rendezvous::Done done;
  {
    const MutexLock lock(mutex_);
    RONDO_RETURN_IF_ERROR(over(step));
    Step& entry = steps_[step];
    if (const auto at = entry.awaited.find(key); at != entry.awaited.end()) {
      done = std::move(at->second);
      entry.awaited.erase(at);
      forget_if_done(step);
    } else if (!entry.sent.try_emplace(key, std::move(parcel)).second) {
      return error(Code::kInternal, "\"{}\" was sent twice in one step", key);
    }
  }
  if (done) done(std::move(parcel));
  return {};
}

void StepTable::recv(int64_t step, const std::string& key,
                     Rendezvous::Done done) {
  if (is_local_(key)) return get(step, key, std::move(done));
  Status failure;
  {
    const MutexLock lock(mutex_);
    failure = over(step);
    if (failure.ok() &&
        !steps_[step].asked.try_emplace(key, std::move(done)).second)
      failure =
          error(Code::kInternal, "\"{}\" is waited for twice in one step", key);
  }
  // try_emplace() has not moved from `done` then.
  if (!failure.ok()) return done(failure);
  remote_(step, key, [self = shared_from_this(), step, key](auto parcel) {
    self->arrive(step, key, std::move(parcel));
  });
}

void StepTable::arrive(int64_t step, const std::string& key,
                       Result<Rendezvous::Parcel> parcel) {
  Rendezvous::Done done;
  {
    const MutexLock lock(mutex_);
    const auto entry = steps_.find(step);
    if (entry == steps_.end()) return;  // it was aborted meanwhile
    const auto at = entry->second.asked.find(key);
    if (at == entry->second.asked.end()) return;
    done = std::move(at->second);
    entry->second.asked.erase(at);
  }
  done(std::move(parcel));
}

void StepTable::get(
    int64_t step, const std::string& key,
    // NOLINTNEXTLINE(performance-unnecessary-value-param): moved
    Rendezvous::Done done) {
  drop_strays();
  Rendezvous::Parcel parcel;
  Status failure;
  {
    const MutexLock lock(mutex_);
    failure = over(step);
    if (failure.ok()) {
      Step& entry = steps_[step];
      const auto at = entry.sent.find(key);
      if (at != entry.sent.end()) {
        parcel = std::move(at->second);
        entry.sent.erase(at);
        forget_if_done(step);
      } else if (entry.run_over) {
        failure =
            error(Code::kInternal,
                  "step {} is over here and did not send \"{}\"", step, key);
      } else if (!entry.awaited.try_emplace(key, std::move(done)).second) {
        // try_emplace() has not moved from `done` then.
        failure = error(Code::kInternal,
                        "\"{}\" is waited for twice in one step", key);
      } else {
        return;
      }
    }
  }
  if (failure.ok())
    done(std::move(parcel));
  else
    done(failure);
}

void StepTable::finish(int64_t step) {
  std::unordered_map<std::string, Rendezvous::Done> left;
  {
    const MutexLock lock(mutex_);
    const auto at = steps_.find(step);
    if (at == steps_.end()) return;
    at->second.run_over = true;
    // Nothing more is sent: who still waits would do so forever.
    left.swap(at->second.awaited);
    forget_if_done(step);
  }
  for (auto& [key, done] : left)
    done(error(Code::kCancelled,
               "step {} is over on this task and did not send \"{}\"", step,
               key));
}

void StepTable::abort(int64_t step, const Status& why) {
  Step entry;
  {
    const MutexLock lock(mutex_);
    const auto at = steps_.find(step);
    if (at != steps_.end()) {
      entry = std::move(at->second);
      steps_.erase(at);
    }
    remember(step, why);
  }
  for (auto& [key, done] : entry.awaited) done(why);
  for (auto& [key, done] : entry.asked) done(why);
}

void StepTable::abort_all(const Status& why) {
  std::vector<int64_t> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [step, entry] : steps_) all.push_back(step);
  }
  for (const int64_t step : all) abort(step, why);
}

void StepTable::forget_if_done(int64_t step) {
  const Step& entry = steps_[step];
  if (!entry.run_over || !entry.sent.empty() || !entry.awaited.empty()) return;
  steps_.erase(step);
  remember(step, {});
}

void StepTable::remember(int64_t step, Status why) {
  if (!ended_.emplace(step, std::move(why)).second) return;
  ended_order_.push_back(step);
  if (ended_order_.size() <= kRemembered) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

void StepTable::drop_strays() {
  std::vector<int64_t> strays;
  {
    const MutexLock lock(mutex_);
    for (const auto& [step, entry] : steps_)
      if (!entry.begun && Clock::now() - entry.made > kMostBefore)
        strays.push_back(step);
  }
  for (const int64_t step : strays)
    abort(step,
          error(Code::kTimeout, "step {} did not begin on this task", step));
}

bool StepTable::holds(int64_t step) const {
  const MutexLock lock(mutex_);
  const auto at = steps_.find(step);
  return at != steps_.end() && at->second.begun;
}

size_t StepTable::size() const {
  const MutexLock lock(mutex_);
  size_t begun = 0;
  for (const auto& [step, entry] : steps_) begun += entry.begun ? 1 : 0;
  return begun;
}

}  // namespace rondo
