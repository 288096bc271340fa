#include "rondo/kernels/mutex_resource.h"

namespace rondo {

struct MutexResource::Asking final : WaitingKernel {
  Asking(KernelContext& context, AsyncKernel::Done done,
         std::shared_ptr<MutexResource> wanted)
      : WaitingKernel(context, std::move(done)), lock(std::move(wanted)) {}
  Status deliver(KernelContext& context) override {
    try {
      Tensor& number = context.allocate(0, DType::kI64, {});
      number.span<int64_t>()[0] = HeldLocks::of(context)->add(lock);
    } catch (...) {
      lock->release();  // nobody else would
      throw;
    }
    return {};
  }
  const std::shared_ptr<MutexResource> lock;
};

void MutexResource::acquire(KernelContext& context, AsyncKernel::Done done) {
  wait(std::make_shared<Asking>(
      context, std::move(done),
      std::static_pointer_cast<MutexResource>(shared_from_this())));
}

void MutexResource::release() {
  update([&](Ended&) { held_ = false; });
}

void MutexResource::list(const std::shared_ptr<WaitingKernel>& waiter,
                         Ended& /*ended*/) {
  asking_.push_back(waiter);
}

void MutexResource::unlist(const std::shared_ptr<WaitingKernel>& waiter) {
  std::erase(asking_, waiter);
}

void MutexResource::advance(Ended& ended) {
  if (held_ || asking_.empty()) return;
  held_ = true;
  end(asking_.front(), {}, ended);
  asking_.pop_front();
}

std::shared_ptr<HeldLocks> HeldLocks::of(KernelContext& context) {
  return context.run_resources().find_or_make<HeldLocks>("mutex/held").value();
}

HeldLocks::~HeldLocks() {
  for (const auto& [number, lock] : locks_) lock->release();
}

int64_t HeldLocks::add(std::shared_ptr<MutexResource> lock) {
  const std::lock_guard guard(mutex_);
  locks_[next_] = std::move(lock);
  return next_++;
}

bool HeldLocks::release(int64_t number, const MutexResource& lock) {
  std::shared_ptr<MutexResource> held;
  {
    const std::lock_guard guard(mutex_);
    const auto at = locks_.find(number);
    if (at == locks_.end() || at->second.get() != &lock) return false;
    held = std::move(at->second);
    locks_.erase(at);
  }
  held->release();
  return true;
}

}  // namespace rondo
