#include "rondo/kernels/exchange_group.h"

#include <algorithm>

#include "rondo/base/attempt.h"

namespace rondo {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<ExchangeGroup>> groups;  // guarded
};

Table& table() {
  // Never destroyed: threads may look until the process ends.
  static auto* const all = new Table;
  return *all;
}

}  // namespace

struct ExchangeGroup::Call {
  enum class State { kNew, kReady, kRunning, kOver };
  ExchangeRun* run = nullptr;
  int64_t sequence = 0;
  Cancellation* cancellation = nullptr;  // good until done
  Work work;                             // empty: a reduction, of
  std::span<Tensor> tensors;             // these, good until done
  ReduceTerms terms;
  AsyncKernel::Done done;
  int wake = 0;  // its number in the cancellation
  // Guarded by the group's mutex.
  State state = State::kNew;
  // While it runs: set, and taken away, by who runs it. Others need the mutex.
  std::shared_ptr<Exchange> by;
  BucketTuner* settles = nullptr;  // what the ranks decide before it
};

ExchangeGroup::ExchangeGroup(std::string name,
                             std::unique_ptr<Exchange> exchange,
                             int64_t usual_limit)
    : name_(std::move(name)),
      rank_(exchange->rank()),
      size_(exchange->size()),
      usual_limit_(usual_limit),
      exchange_(std::move(exchange)),
      thread_([this] { serve(); }) {}

ExchangeGroup::~ExchangeGroup() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Result<std::shared_ptr<ExchangeGroup>> ExchangeGroup::find(
    const std::string& name) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto at = all.groups.find(name);
  if (at != all.groups.end())
    if (auto group = at->second.lock()) return group;
  return error(Code::kInvalidArgument,
               "this process is in no group \"{}\": make the strategy that the "
               "graph was built with before the session runs, and keep it",
               name);
}

Status ExchangeGroup::publish(const std::shared_ptr<ExchangeGroup>& group) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::weak_ptr<ExchangeGroup>& at = all.groups[group->name()];
  if (at.lock())
    return error(Code::kInvalidArgument,
                 "this process is in a group \"{}\" already: give another name",
                 group->name());
  at = group;
  return {};
}

std::shared_ptr<Parameters> ExchangeGroup::parameters() {
  const std::lock_guard lock(mutex_);
  return exchange_ ? exchange_->parameters() : nullptr;
}

std::vector<BucketChoice> ExchangeGroup::choices() {
  const std::lock_guard lock(mutex_);
  std::vector<BucketChoice> choices;
  for (const auto& [units, tuner] : tuners_) choices.push_back(tuner.choice());
  return choices;
}

void ExchangeGroup::expect(ExchangeRun& run, const ExchangeUnit& unit) {
  const std::lock_guard lock(mutex_);
  run.all_[unit.sequence] = unit;
  run.expected_.insert(unit.sequence);
  if (run.listed_) return;
  run.listed_ = true;
  run.began_ = Clock::now();
  runs_.push_back(&run);
}

void ExchangeGroup::leave_out(ExchangeRun& run, int64_t sequence) {
  const std::lock_guard lock(mutex_);
  run.expected_.erase(sequence);
  changed_.notify_one();
}

void ExchangeGroup::submit(ExchangeRun& run, int64_t sequence,
                           Cancellation& cancellation, Work work,
                           AsyncKernel::Done done) {
  const auto call = std::make_shared<Call>();
  call->cancellation = &cancellation;
  call->work = std::move(work);
  call->done = std::move(done);
  submit(run, sequence, call);
}

void ExchangeGroup::submit(ExchangeRun& run, int64_t sequence,
                           Cancellation& cancellation,
                           std::span<Tensor> tensors, AsyncKernel::Done done) {
  const auto call = std::make_shared<Call>();
  call->cancellation = &cancellation;
  call->tensors = tensors;
  call->done = std::move(done);
  submit(run, sequence, call);
}

void ExchangeGroup::submit(ExchangeRun& run, int64_t sequence,
                           const std::shared_ptr<Call>& call) {
  Cancellation& cancellation = *call->cancellation;
  call->run = &run;
  call->sequence = sequence;
  // First the wake, then the list: once listed, the call may end any time. By a
  // weak pointer: the group's own thread must not be the last to hold it.
  call->wake = cancellation.on_cancel([weak = weak_from_this(), call] {
    if (const auto self = weak.lock()) self->cancel(call);
  });
  Status status;
  {
    const std::lock_guard lock(mutex_);
    if (call->state == Call::State::kOver)
      status = cancellation.reason();
    else if (!run.expected_.contains(sequence) || run.ready_.contains(sequence))
      status = error(Code::kInvalidArgument,
                     "exchange {} of the group \"{}\" comes twice in a step: "
                     "it must not be in a loop, nor share its number",
                     sequence, name_);
    else {
      call->state = Call::State::kReady;
      call->terms = run.all_[sequence].terms;
      run.ready_[sequence] = call;
      changed_.notify_one();
      return;
    }
    call->state = Call::State::kOver;
  }
  finish(*call, status);
}

void ExchangeGroup::cancel(const std::shared_ptr<Call>& call) {
  std::shared_ptr<Exchange> running;
  bool runs = false;
  {
    const std::lock_guard lock(mutex_);
    switch (call->state) {
      case Call::State::kNew: call->state = Call::State::kOver; return;
      case Call::State::kOver: return;
      case Call::State::kRunning:
        runs = true;
        running = call->by;
        break;
      case Call::State::kReady:
        call->state = Call::State::kOver;
        call->run->ready_.erase(call->sequence);
    }
  }
  const Status reason = call->cancellation->reason();
  // One that runs is finished by the thread that it runs on.
  if (!runs)
    finish(*call, reason);
  else if (running)
    running->abort(fmt::format("its step was given up: {}", reason.message()));
}

void ExchangeGroup::finish(Call& call, const Status& status) {
  // Before done: with that, the run may be over, and its cancellation gone.
  call.cancellation->drop(call.wake);
  const AsyncKernel::Done done = std::move(call.done);
  call.work = nullptr;
  done(status);
}

void ExchangeGroup::end(ExchangeRun& run, const Status& status) {
  std::shared_ptr<Exchange> left;
  {
    const std::lock_guard lock(mutex_);
    if (!run.listed_) return;
    run.listed_ = false;
    std::erase(runs_, &run);
    changed_.notify_one();
    const bool harmless =
        status.code() == Code::kOutOfRange && !run.issued_any_;
    // Also behind its last exchange: the others have made their updates.
    if ((!run.expected_.empty() || !status.ok()) && !harmless) left = exchange_;
    if (status.ok() && run.step_.trial)
      run.tuner_->record(*run.step_.trial,
                         to_seconds(Clock::now() - run.began_));
    run.all_.clear();
    run.expected_.clear();
    run.issued_any_ = false;
    run.tuner_ = nullptr;
    run.step_ = {};
  }
  if (left)
    left->abort(status.ok()
                    ? "its step left out an exchange"
                    : fmt::format("its step failed: {}", status.message()));
}

void ExchangeGroup::close() {
  std::shared_ptr<Exchange> last;
  const std::lock_guard lock(mutex_);
  last.swap(exchange_);
}

// With the mutex.
BucketTuner& ExchangeGroup::tuner_of(const ExchangeRun& run) {
  std::vector<ExchangeUnit> units;
  // Also what is left out: ranks may learn of that at different times.
  for (const auto& [sequence, unit] : run.all_) units.push_back(unit);
  const auto at = tuners_.find(units);
  if (at != tuners_.end()) return at->second;
  return tuners_.emplace(units, BucketTuner(units, usual_limit_)).first->second;
}

// With the mutex: the run's next calls up to number `last`, taken out of it; or
// none while one of them is not ready.
ExchangeGroup::Calls ExchangeGroup::together(ExchangeRun& run, int64_t last) {
  Calls calls;
  for (const int64_t sequence : run.expected_) {
    if (sequence > last) break;
    const auto at = run.ready_.find(sequence);
    if (at == run.ready_.end()) return {};
    calls.push_back(at->second);
  }
  for (const auto& call : calls) {
    run.ready_.erase(call->sequence);
    run.expected_.erase(call->sequence);
    call->state = Call::State::kRunning;
  }
  run.issued_any_ = true;
  return calls;
}

// With the mutex: the calls whose turn it is, or none.
ExchangeGroup::Calls ExchangeGroup::next() {
  for (ExchangeRun* run : runs_) {
    // A run that has issued all makes room for the one behind it.
    if (run->expected_.empty()) continue;
    const int64_t first = *run->expected_.begin();
    if (!run->ready_.contains(first)) return {};
    if (usual_limit_ == 0 || run->all_[first].bytes == 0)
      return together(*run, first);
    if (run->tuner_ != nullptr)
      return together(*run, run->step_.buckets->at(first));
    // A step counts when its first bucket leaves, as it then does on all ranks.
    BucketTuner& tuner = tuner_of(*run);
    const BucketTuner::Step step = tuner.next();
    Calls calls = together(*run, step.buckets->at(first));
    if (calls.empty()) return {};
    tuner.count();
    run->tuner_ = &tuner;
    run->step_ = step;
    if (step.settles) calls[0]->settles = &tuner;
    return calls;
  }
  return {};
}

void ExchangeGroup::issue(const Calls& calls) {
  const Call& first = *calls[0];
  if (!first.by)
    return over(calls,
                error(Code::kCancelled, "the group \"{}\" is closed", name_));
  Exchange& exchange = *first.by;
  std::vector<Tensor> tensors;  // the same memory
  const Status status = attempt([&]() -> Status {
    if (first.work) return first.work(exchange);
    if (first.settles != nullptr)
      RONDO_RETURN_IF_ERROR(settle(*first.settles, exchange));
    for (const auto& call : calls)
      tensors.insert(tensors.end(), call->tensors.begin(), call->tensors.end());
    return {};
  });
  if (first.work || !status.ok()) return over(calls, status);
  exchange.begin_all_reduce(
      std::move(tensors), first.terms,
      [this, calls](const Status& how) { over(calls, how); });
}

void ExchangeGroup::over(const Calls& calls, const Status& status) {
  // It may have failed here alone: the others wait in it.
  if (!status.ok() && calls[0]->by) calls[0]->by->abort(status.message());
  {
    const std::lock_guard lock(mutex_);
    for (const auto& call : calls) {
      call->state = Call::State::kOver;
      const std::shared_ptr<Exchange> by = std::move(call->by);
      if (by && by != exchange_) left_behind_.push_back(by);
    }
    if (!left_behind_.empty()) changed_.notify_one();
  }
  // The last of these may be the end of the run, and of the group.
  for (const auto& call : calls) finish(*call, status);
}

// What the ranks measured, and what follows.
Status ExchangeGroup::settle(BucketTuner& tuner, Exchange& exchange) {
  std::unique_lock lock(mutex_);
  const std::vector<double> mine = tuner.measured();
  lock.unlock();
  Tensor means =
      Tensor::empty({static_cast<int64_t>(mine.size())}, DType::kF64);
  std::ranges::copy(mine, means.span<double>().begin());
  RONDO_RETURN_IF_ERROR(
      exchange.all_reduce({&means, 1}, {.average = true, .wire = DType::kF64}));
  lock.lock();
  tuner.settle(means.span<double>());
  return {};
}

void ExchangeGroup::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    Calls calls;
    std::vector<std::shared_ptr<Exchange>> left_behind;
    changed_.wait(lock, [&] {
      left_behind.swap(left_behind_);
      calls = next();
      return !calls.empty() || !left_behind.empty() || stopped_;
    });
    if (calls.empty() && left_behind.empty()) return;
    for (const auto& call : calls) call->by = exchange_;
    lock.unlock();
    left_behind.clear();
    if (!calls.empty()) issue(calls);
    calls.clear();
    lock.lock();
  }
}

}  // namespace rondo
