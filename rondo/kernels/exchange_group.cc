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
  Work work;
  AsyncKernel::Done done;
  int wake = 0;  // its number in the cancellation
  // Guarded by the group's mutex.
  State state = State::kNew;
  std::shared_ptr<Exchange> by;  // while it runs
};

ExchangeGroup::ExchangeGroup(std::string name,
                             std::unique_ptr<Exchange> exchange)
    : name_(std::move(name)),
      rank_(exchange->rank()),
      size_(exchange->size()),
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

void ExchangeGroup::expect(ExchangeRun& run, int64_t sequence) {
  const std::lock_guard lock(mutex_);
  run.expected_.insert(sequence);
  if (run.listed_) return;
  run.listed_ = true;
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
  call->run = &run;
  call->sequence = sequence;
  call->cancellation = &cancellation;
  call->work = std::move(work);
  call->done = std::move(done);
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
    run.expected_.clear();
    run.issued_any_ = false;
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

// With the mutex: the call whose turn it is, or nullptr.
std::shared_ptr<ExchangeGroup::Call> ExchangeGroup::next() {
  for (ExchangeRun* run : runs_) {
    // A run that has issued all makes room for the one behind it.
    if (run->expected_.empty()) continue;
    const int64_t sequence = *run->expected_.begin();
    const auto at = run->ready_.find(sequence);
    if (at == run->ready_.end()) return nullptr;
    auto call = at->second;
    run->ready_.erase(at);
    run->expected_.erase(sequence);
    run->issued_any_ = true;
    call->state = Call::State::kRunning;
    return call;
  }
  return nullptr;
}

void ExchangeGroup::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::shared_ptr<Call> call;
    changed_.wait(lock, [&] {
      call = next();
      return call || stopped_;
    });
    if (!call) return;
    std::shared_ptr<Exchange> exchange = exchange_;
    call->by = exchange;
    lock.unlock();
    Status status =
        exchange ? attempt([&] { return call->work(*exchange); })
                 : error(Code::kCancelled, "the group \"{}\" is closed", name_);
    // It may have failed here alone: the others wait in it.
    if (exchange && !status.ok()) exchange->abort(status.message());
    exchange.reset();
    lock.lock();
    call->state = Call::State::kOver;
    call->by.reset();
    lock.unlock();
    finish(*call, status);
    lock.lock();
  }
}

}  // namespace rondo
