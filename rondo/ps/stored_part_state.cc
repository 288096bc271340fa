// What a StoredPart holds: how workers get it, or set it.
#include <algorithm>
#include <cstring>

#include "rondo/base/attempt.h"
#include "rondo/ps/stored_part.h"

namespace rondo {
namespace {

// More updates than anybody makes: the next number is one, too.
bool counts_updates(int64_t number) {
  constexpr int64_t kMostUpdates = int64_t{1} << 53;
  return number >= 0 && number < kMostUpdates;
}

}  // namespace

LinkAnswer StoredPart::value_for(const Waiting& one) const {
  LinkAnswer made;
  if (one.changed) return changed_rows(one.since);
  if (one.by_rows)
    made.tensors.push_back(rows_of(one.indices));
  else if (one.slot >= 0)
    made.tensors.push_back(state_.slots[static_cast<size_t>(one.slot)]);
  else
    made.tensors.push_back(state_.value);
  return made;
}

Tensor StoredPart::rows_of(const Tensor& indices) const {
  const auto row_bytes =
      static_cast<size_t>(what_.key.width()) * size_of(what_.key.dtype);
  Tensor rows =
      Tensor::empty({indices.count(), what_.key.width()}, what_.key.dtype);
  auto* out = static_cast<char*>(rows.data());
  const auto* in = static_cast<const char*>(state_.value.data());
  for (const int64_t row : indices.span<int64_t>()) {
    std::memcpy(out, in + static_cast<size_t>(row) * row_bytes, row_bytes);
    out += row_bytes;
  }
  return rows;
}

// Which rows have changed is not kept in the log: a server that is started
// again takes all for changed.
LinkAnswer StoredPart::changed_rows(int64_t since) const {
  const int64_t width = what_.key.width();
  const int64_t first = what_.begin / width;
  const int64_t count = (what_.end - what_.begin) / width;
  std::vector<int64_t> rows;
  if (since >= all_changed_ && since >= recent_since_)
    rows = recently_changed(since);
  else
    for (int64_t row = 0; row < count; ++row) {
      const int64_t version =
          changed_.empty() ? 0 : changed_[static_cast<size_t>(row)];
      if (std::max(version, all_changed_) > since) rows.push_back(row);
    }
  const auto many = static_cast<int64_t>(rows.size());
  Tensor indices = Tensor::of<int64_t>({many}, rows);
  LinkAnswer made;
  made.tensors.push_back(rows_of(indices));
  for (int64_t& row : indices.span<int64_t>()) row += first;
  made.tensors.push_back(std::move(indices));
  return made;
}

std::vector<int64_t> StoredPart::recently_changed(int64_t since) const {
  std::vector<int64_t> rows;
  for (auto at = recent_.rbegin(); at != recent_.rend(); ++at) {
    if (at->first <= since) break;
    const std::vector<int64_t>& some = at->second;
    rows.insert(rows.end(), some.begin(), some.end());
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

void StoredPart::note_change(const KvGradient& gradient) {
  if (!what_.key.by_rows) return;
  if (!gradient.by_rows) {
    all_changed_ = version_;
    return;
  }
  changed_.resize(
      static_cast<size_t>((what_.end - what_.begin) / what_.key.width()));
  for (const int64_t row : gradient.indices.span<int64_t>())
    changed_[static_cast<size_t>(row)] = version_;
  // Not more of them than it takes to be quicker than a look at all rows.
  constexpr size_t kShare = 8;
  const auto rows = gradient.indices.span<int64_t>();
  recent_.emplace_back(version_,
                       std::vector<int64_t>(rows.begin(), rows.end()));
  recent_rows_ += rows.size();
  while (recent_rows_ > changed_.size() / kShare || recent_.size() > kRecent) {
    recent_rows_ -= recent_.front().second.size();
    recent_since_ = recent_.front().first;
    recent_.pop_front();
  }
}

Status StoredPart::check_state(const std::vector<Tensor>& tensors) const {
  if (tensors.size() != this->tensors())
    return error(Code::kMismatch,
                 "{} is to be set by {} tensors; it has a value and {} slots",
                 name(), tensors.size(), optimizer_.slots());
  for (const Tensor& one : tensors)
    if (one.dtype() != what_.key.dtype ||
        one.count() != what_.end - what_.begin)
      return error(Code::kMismatch,
                   "{} is to be set to {} elements {}, but has {} {}", name(),
                   one.count(), name_of(one.dtype()), what_.end - what_.begin,
                   name_of(what_.key.dtype));
  return {};
}

void StoredPart::set(const kv::SetPart& call,
                     const std::vector<Tensor>& tensors, Answers& answers,
                     Status& status) {
  const MutexLock lock(mutex_);
  status = failure_;
  if (status.ok()) status = check_state(tensors);
  if (!status.ok()) return;
  // Copies: they may lie in a worker's memory.
  std::vector<Tensor> own;
  for (const Tensor& one : tensors)
    own.push_back(one.reshape({one.count()}).clone());
  status =
      log_.set ? log_.set({number_, version_, call.powers}, own) : Status();
  if (!status.ok()) return;
  take(call.powers, std::move(own));
  settle_locked(answers);
}

void StoredPart::take(const BetaPowers& powers, std::vector<Tensor> tensors) {
  state_.value = std::move(tensors[0]);
  state_.slots.assign(std::make_move_iterator(tensors.begin() + 1),
                      std::make_move_iterator(tensors.end()));
  state_.powers = powers;
  initialized_ = true;
}

Status StoredPart::replay(const PartSetting& setting,
                          std::vector<Tensor> tensors) {
  const MutexLock lock(mutex_);
  // A snapshot may have what came behind it.
  if (setting.version < version_) return {};
  RONDO_RETURN_IF_ERROR(check_state(tensors));
  take(setting.powers, std::move(tensors));
  return {};
}

Status StoredPart::restore(PartImage image) {
  const bool makes_sense = counts_updates(image.version) &&
                           std::ranges::all_of(image.counted, counts_updates) &&
                           (image.initialized || !what_.key.reduces);
  if (!makes_sense) return kv::damaged("a part in a snapshot");
  if (image.initialized) {
    std::vector<Tensor> tensors = image.state.slots;
    tensors.push_back(image.state.value);
    RONDO_RETURN_IF_ERROR(check_state(tensors));
  }
  const MutexLock lock(mutex_);
  initialized_ = image.initialized;
  version_ = image.version;
  counted_ = std::move(image.counted);
  state_ = std::move(image.state);
  all_changed_ = version_;
  return {};
}

Status StoredPart::replay(const Tensor& value) {
  const MutexLock lock(mutex_);
  if (initialized_) return {};
  state_ = initial_state(optimizer_, value.clone());
  initialized_ = true;
  return {};
}

Status StoredPart::check_gradient(const KvGradient& gradient) const {
  int64_t count = what_.end - what_.begin;
  bool makes_sense = gradient.values.dtype() == what_.key.dtype;
  if (gradient.by_rows) {
    if (!what_.key.by_rows) return kv::damaged("an update in the log");
    const int64_t rows = count / what_.key.width();
    for (const int64_t row : gradient.indices.span<int64_t>())
      makes_sense = makes_sense && row >= 0 && row < rows;
    count = gradient.indices.count() * what_.key.width();
  }
  makes_sense = makes_sense && gradient.values.count() == count;
  return makes_sense ? Status() : kv::damaged("an update in the log");
}

Status StoredPart::replay(const PartUpdate& update) {
  RONDO_RETURN_IF_ERROR(check_gradient(update.gradient));
  for (const auto& [worker, sequence] : update.pushes)
    if (!counts_updates(sequence)) return kv::damaged("an update in the log");
  const MutexLock lock(mutex_);
  if (update.version <= version_) return {};
  if (!initialized_ || update.version != version_ + 1)
    return error(Code::kInvalidArgument,
                 "the log has update {} of {}, but not the one before it",
                 update.version, name());
  make(update);
  return {};
}

void StoredPart::fail(const Status& why, Answers& answers) {
  const MutexLock lock(mutex_);
  if (failure_.ok()) failure_ = why;
  for (auto& [sequence, step] : steps_)
    for (auto& [worker, pushed] : step)
      answers.add(std::move(pushed.answer), failure_);
  steps_.clear();
  settle_locked(answers);
}

}  // namespace rondo
