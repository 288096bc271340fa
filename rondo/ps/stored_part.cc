#include "rondo/ps/stored_part.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rondo/base/attempt.h"
#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/elementwise_loops.h"

namespace rondo {
namespace {

// What a worker may make this server keep: pushes of steps that are not made
// yet, and answers that wait, both of one part; and for how long.
constexpr int64_t kMostAhead = 64;
constexpr int64_t kMostWaiting = 1024;
constexpr int64_t kMostMs = int64_t{1000} * 60 * 60;

Deadline within(int64_t ms) {
  return Deadline(
      std::chrono::milliseconds(std::clamp<int64_t>(ms, 0, kMostMs)));
}

Tensor widened(const Tensor& narrow) {
  Tensor wide = Tensor::empty({narrow.count()}, DType::kF32);
  widen(DType::kBF16, narrow.data(), wide.span<float>().data(), narrow.count());
  return wide;
}

// What a handler has caught, as a status: mostly that there is no memory.
Status thrown() {
  return attempt([]() -> Status { throw; });
}

}  // namespace

void StoredPart::Answers::give() {
  for (auto& [answer, what] : list_) answer(std::move(what));
  list_.clear();
}

StoredPart::StoredPart(int64_t number, kv::AddPart what, const KvRules& rules,
                       const Members& members, const Log& log)
    : number_(number),
      what_(std::move(what)),
      rules_(rules),
      members_(members),
      log_(log),
      // What is only reduced has no slots, whatever the rules say.
      optimizer_(what_.key.reduces
                     ? KvOptimizer()
                     : what_.key.optimizer.value_or(rules.optimizer)),
      initialized_(what_.key.reduces.has_value()),
      counted_(static_cast<size_t>(rules.workers)) {
  if (initialized_)
    state_.value = Tensor::zeros({what_.end - what_.begin}, what_.key.dtype);
}

std::string StoredPart::name() const {
  return fmt::format("\"{}\"", what_.key.name);
}

// ---- Values -----------------------------------------------------------------

void StoredPart::initialize(const Tensor& value, Answers& answers,
                            Status& status) {
  const MutexLock lock(mutex_);
  if (initialized_) return;
  if (value.dtype() != what_.key.dtype ||
      value.count() != what_.end - what_.begin) {
    status =
        error(Code::kMismatch, "the initial value of {} has {} elements {}",
              name(), value.count(), name_of(value.dtype()));
    return;
  }
  // A copy: it may lie in a worker's memory, who must not be able to make what
  // is logged differ from what is kept.
  // Made before it is logged: behind the log nothing may fail.
  KvState made =
      initial_state(optimizer_, value.reshape({value.count()}).clone());
  status = log_.initialize(number_, made.value);
  if (!status.ok()) return;
  state_ = std::move(made);
  initialized_ = true;
  settle_locked(answers);
}

kv::PartAnswer StoredPart::about(int worker) const {
  const MutexLock lock(mutex_);
  const int64_t counted = counted_[static_cast<size_t>(worker)];
  return {number_,
          rules_.mode == KvMode::kSync ? std::max(counted, version_) : counted};
}

PartImage StoredPart::image() const {
  const MutexLock lock(mutex_);
  return {what_, initialized_, version_, counted_, state_};
}

// ---- Pushes -----------------------------------------------------------------

Result<Tensor> StoredPart::local_rows(const Tensor& indices) const {
  if (!what_.key.by_rows)
    return error(Code::kInvalidArgument,
                 "{} was not added by rows, so rows of it cannot be pushed or "
                 "pulled: set by_rows in its key",
                 name());
  if (indices.dtype() != DType::kI64)
    return error(Code::kInvalidArgument,
                 "indices of rows of {} are {}, not i64", name(),
                 name_of(indices.dtype()));
  // A copy: what a peer shows it can change between the check and the use.
  Tensor rows = indices.clone();
  const int64_t width = what_.key.width();
  const int64_t first = what_.begin / width, last = what_.end / width;
  for (int64_t& row : rows.span<int64_t>()) {
    if (row < first || row >= last)
      return error(Code::kInvalidArgument,
                   "row {} of {} is not among rows {} to {} here", row, name(),
                   first, last - 1);
    row -= first;
  }
  return rows;
}

Result<KvGradient> StoredPart::gradient_of(const kv::Push& call,
                                           std::vector<Tensor> tensors) const {
  if (tensors.size() != (call.by_rows ? 2u : 1u)) return kv::damaged("a push");
  KvGradient made{std::move(tensors[0]), {}, call.by_rows};
  int64_t count = what_.end - what_.begin;
  if (call.by_rows) {
    RONDO_ASSIGN_OR_RETURN(made.indices, local_rows(tensors[1]));
    count = made.indices.count() * what_.key.width();
  }
  // In half the bytes, reduced as what it belongs to.
  if (made.values.dtype() == DType::kBF16 && what_.key.dtype == DType::kF32)
    made.values = widened(made.values);
  if (made.values.dtype() != what_.key.dtype || made.values.count() != count)
    return error(
        Code::kMismatch,
        "a gradient of {} elements {} was pushed for {} elements {} of "
        "{}",
        made.values.count(), name_of(made.values.dtype()), count,
        name_of(what_.key.dtype), name());
  return made;
}

Status StoredPart::check_push(int worker, const kv::Push& call) const {
  if (!failure_.ok()) return failure_;
  if (!initialized_)
    return error(Code::kInvalidArgument,
                 "{} has no value yet: pull it before the first push", name());
  const int64_t counted = counted_[static_cast<size_t>(worker)];
  if (rules_.mode != KvMode::kSync && call.sequence > counted + 1)
    return error(Code::kMismatch,
                 "push {} of {} came from {}, but the server knows only the "
                 "first {}: it has lost some",
                 call.sequence, name(), members_.describe(worker), counted);
  if (rules_.mode == KvMode::kSync &&
      call.sequence > std::max(version_, counted) + kMostAhead)
    return error(Code::kMismatch,
                 "push {} of {} came from {}, but only {} steps are made: wait "
                 "for pushes before more than {} are under way",
                 call.sequence, name(), members_.describe(worker), version_,
                 kMostAhead);
  if (call.pulls) RONDO_RETURN_IF_ERROR(check_waiting(worker));
  if (const auto at = steps_.find(call.sequence);
      at != steps_.end() && !at->second.empty() &&
      at->second.begin()->second.call.by_rows != call.by_rows)
    return error(Code::kMismatch,
                 "step {} of {}: some workers push rows, others the whole",
                 call.sequence, name());
  return {};
}

Status StoredPart::check_waiting(int worker) const {
  const auto many =
      std::count_if(waiting_.begin(), waiting_.end(),
                    [&](const Waiting& one) { return one.worker == worker; });
  if (many < kMostWaiting) return {};
  return error(Code::kResource,
               "{} pulls of {} by {} wait already: wait for them before more",
               many, name(), members_.describe(worker));
}

void StoredPart::push(From from, const kv::Push& call,
                      std::vector<Tensor> tensors, Answer& answer,
                      Answers& answers) {
  auto gradient = gradient_of(call, std::move(tensors));
  const MutexLock lock(mutex_);
  Status status =
      gradient.ok() ? check_push(from.worker, call) : gradient.status();
  if (!status.ok()) return answers.add(std::move(answer), status);
  Pushed pushed{call, from.link, std::move(*gradient), std::move(answer),
                within(call.timeout_ms)};
  int64_t& counted = counted_[static_cast<size_t>(from.worker)];
  if (rules_.mode == KvMode::kSync && call.sequence <= version_)
    counted = std::max(counted, call.sequence);  // too late: dropped
  if (call.sequence <= counted)
    acknowledge(from.worker, pushed, answers);
  else if (rules_.mode == KvMode::kSync)
    wait_for_others(from.worker, std::move(pushed), answers);
  else {
    Step alone;
    alone.emplace(from.worker, std::move(pushed));
    apply(std::move(alone), answers);
  }
  settle_locked(answers);
}

void StoredPart::wait_for_others(int worker, Pushed pushed, Answers& answers) {
  Step& step = steps_[pushed.call.sequence];
  const auto at = step.find(worker);
  if (at == step.end()) {
    step.emplace(worker, std::move(pushed));
    return;
  }
  // A push that is sent again takes the place of the first, whose link is gone;
  // but the first may come here last.
  if (at->second.link <= pushed.link) std::swap(at->second, pushed);
  answers.add(std::move(pushed.answer),
              error(Code::kUnavailable, "the push was sent again"));
}

// Whether as many have pushed as are waited for. Who has left is not.
bool StoredPart::complete(const Step& step) const {
  int expected = 0;
  for (int worker = 0; worker < rules_.workers; ++worker)
    if (step.contains(worker) || !members_.left(worker)) ++expected;
  return !step.empty() &&
         static_cast<int>(step.size()) >= expected - rules_.backup;
}

void StoredPart::apply(Step step, Answers& answers) {
  PartUpdate update;
  update.part = number_;
  update.version = version_ + 1;
  update.learning_rate = step.begin()->second.call.learning_rate;
  if (std::isnan(update.learning_rate))
    update.learning_rate = optimizer_.learning_rate;
  std::vector<KvGradient> gradients;
  for (auto& [worker, pushed] : step) {
    update.pushes.emplace_back(worker, pushed.call.sequence);
    gradients.push_back(std::move(pushed.gradient));
  }
  const Status status = log_and_make(update, gradients);
  for (auto& [worker, pushed] : step) {
    if (status.ok())
      acknowledge(worker, pushed, answers);
    else
      answers.add(std::move(pushed.answer), status);
  }
}

Status StoredPart::log_and_make(PartUpdate& update,
                                std::span<const KvGradient> gradients) {
  try {
    update.gradient = what_.key.reduces ? reduced(*what_.key.reduces, gradients)
                                        : mean_of(gradients);
    // A single one is not copied by that, and may lie in the memory of a worker
    // that was interrupted and uses it again. With a log it is read three
    // times: for the checksum, for the file, and for the update.
    if (log_.keeps && gradients.size() == 1 && !update.gradient.by_rows)
      update.gradient.values = update.gradient.values.clone();
  } catch (...) {
    return thrown();
  }
  // In the log first: what is acknowledged is in it. What is in it and cannot
  // be made is the end: the next one must not get its version.
  try {
    failure_ = log_.update(update);
    if (failure_.ok()) make(update);
  } catch (...) {
    failure_ = thrown();
  }
  return failure_;
}

void StoredPart::make(const PartUpdate& update) {
  if (what_.key.reduces)
    state_.value = update.gradient.values;
  else if (update.gradient.by_rows)
    update_rows(optimizer_, update.learning_rate, update.gradient.indices,
                update.gradient.values, state_);
  else
    update_all(optimizer_, update.learning_rate, update.gradient.values,
               state_);
  version_ = update.version;
  note_change(update.gradient);
  for (const auto& [worker, sequence] : update.pushes) {
    int64_t& counted = counted_[static_cast<size_t>(worker)];
    counted = std::max(counted, sequence);
  }
}

void StoredPart::acknowledge(int worker, Pushed& pushed, Answers& answers) {
  if (!pushed.call.pulls)
    answers.add(std::move(pushed.answer), LinkAnswer{push_answer(), {}});
  else
    waiting_.push_back({.step = pushed.call.sequence,
                        .worker = worker,
                        .pushed = true,
                        .changed = pushed.call.by_rows,
                        .since = pushed.call.since,
                        .answer = std::move(pushed.answer),
                        .deadline = pushed.deadline});
}

std::string StoredPart::push_answer() const {
  return kv::PushAnswer{rules_.mode == KvMode::kSync ? version_ : 0, version_}
      .encode();
}

// ---- Pulls and waits --------------------------------------------------------

void StoredPart::pull(From from, const kv::Pull& call,
                      std::vector<Tensor> tensors, Answer& answer,
                      Answers& answers) {
  Waiting one{.step = call.step,
              .worker = from.worker,
              .by_rows = call.by_rows,
              .slot = call.slot,
              .deadline = within(call.timeout_ms)};
  if (call.slot >= static_cast<int64_t>(optimizer_.slots()) ||
      (call.slot >= 0 && call.by_rows))
    return answers.add(std::move(answer), kv::damaged("a pull of a slot"));
  if (tensors.size() != (call.by_rows ? 1u : 0u))
    return answers.add(std::move(answer), kv::damaged("a pull"));
  if (call.by_rows) {
    auto rows = local_rows(tensors[0]);
    if (!rows.ok()) return answers.add(std::move(answer), rows.status());
    one.indices = std::move(*rows);
  }
  const MutexLock lock(mutex_);
  const Status room = check_waiting(from.worker);
  if (!room.ok()) return answers.add(std::move(answer), room);
  one.answer = std::move(answer);
  waiting_.push_back(std::move(one));
  settle_locked(answers);
}

void StoredPart::settle(Answers& answers) {
  const MutexLock lock(mutex_);
  settle_locked(answers);
}

void StoredPart::settle_locked(Answers& answers) {
  for (auto next = steps_.find(version_ + 1);
       failure_.ok() && next != steps_.end() && complete(next->second);
       next = steps_.find(version_ + 1)) {
    Step step = std::move(next->second);
    steps_.erase(next);
    apply(std::move(step), answers);
    // Now: of a key that is only reduced, the next step leaves nothing.
    answer_waiting(answers);
  }
  answer_waiting(answers);
}

void StoredPart::answer_waiting(Answers& answers) {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (failure_.ok() && !ready(*at)) {
      ++at;
      continue;
    }
    auto value = answer_for(*at);
    answers.add(std::move(at->answer), std::move(value));
    at = waiting_.erase(at);
  }
}

bool StoredPart::ready(const Waiting& one) const {
  return initialized_ && awaited(one.step).empty();
}

Result<LinkAnswer> StoredPart::answer_for(const Waiting& one) const {
  if (!failure_.ok()) return failure_;
  try {
    LinkAnswer made = value_for(one);
    if (one.pushed) made.body = push_answer();
    return made;
  } catch (...) {
    return thrown();
  }
}

}  // namespace rondo
