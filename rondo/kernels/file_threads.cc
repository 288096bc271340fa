#include "rondo/kernels/file_threads.h"

namespace rondo {
namespace {

// Transfers at a time: enough that a long one does not hold up the others.
constexpr size_t kMostThreads = 4;

}  // namespace

FileThreads::~FileThreads() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void FileThreads::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  if (waiting_.size() > idle_ && threads_.size() < kMostThreads)
    threads_.emplace_back([this] { loop(); });
  wake_.notify_one();
}

void FileThreads::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [&] { return closing_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

void FileKernel::start(KernelContext& context, Done done) {
  threads_->run([this, &context, done = std::move(done)] {
    Status status;
    try {
      status = transfer(context);
    } catch (const Error& e) {
      status = Status(e.code(), e.what());
    } catch (const std::exception& e) {
      status = Status(Code::kInternal, e.what());
    }
    done(std::move(status));
  });
}

}  // namespace rondo
