#include "rondo/kernels/data_iterator.h"

namespace rondo {

DataIterator::~DataIterator() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    if (source_) source_->stop();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void DataIterator::begin(const DataSourceMaker& maker) {
  std::shared_ptr<DataSource> before;  // goes without the lock
  std::optional<Next> kept;
  const std::lock_guard lock(mutex_);
  before = std::move(source_);
  if (before) before->stop();
  kept.swap(kept_);
  source_ = maker.make(passes_++);
}

void DataIterator::begin_once(const DataSourceMaker& maker) {
  const std::lock_guard lock(mutex_);
  if (!source_) source_ = maker.make(passes_++);
}

std::shared_ptr<DataSource> DataIterator::source() const {
  const std::lock_guard lock(mutex_);
  return source_;
}

void DataIterator::next(Cancellation& cancellation, Done done) {
  const std::shared_ptr<Request> request(
      new Request{cancellation, std::move(done)});
  const int link =
      cancellation.on_cancel([this, request] { abandon(request); });
  const std::lock_guard lock(mutex_);
  if (request->taken) return;  // cancelled by now, and so over
  request->link = link;
  requests_.push_back(request);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  wake_.notify_one();
}

void DataIterator::abandon(const std::shared_ptr<Request>& request) {
  {
    const std::lock_guard lock(mutex_);
    if (request->taken) return;
    request->taken = true;
    std::erase(requests_, request);
  }
  request->done(request->cancellation.reason());
}

void DataIterator::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return closing_ || !requests_.empty(); });
    if (closing_) return;
    std::optional<Next> answer = take(lock);
    if (!answer) continue;
    const std::shared_ptr<Request> request = std::move(requests_.front());
    requests_.pop_front();
    request->taken = true;
    lock.unlock();
    request->cancellation.forget(request->link);
    request->done(std::move(*answer));
    lock.lock();
  }
}

std::optional<DataIterator::Next> DataIterator::take(
    std::unique_lock<std::mutex>& lock) {
  if (kept_) {
    std::optional<Next> answer;
    answer.swap(kept_);
    return answer;
  }
  std::shared_ptr<DataSource> source = source_;
  lock.unlock();
  Next answer = source->next();
  lock.lock();
  if (source != source_) {
    // It has begun again meanwhile, and this is of no interest.
    lock.unlock();
    source.reset();
    lock.lock();
    return std::nullopt;
  }
  if (!requests_.empty()) return answer;
  kept_ = std::move(answer);
  return std::nullopt;
}

}  // namespace rondo
