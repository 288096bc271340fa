#include "rondo/kernels/cpu/variable.h"
#include "rondo/kernels/cpu/waiting_kernels.h"
#include "rondo/kernels/mutex_resource.h"

namespace rondo {
namespace {

std::shared_ptr<MutexResource> mutex_of(const Node& node,
                                        Resources& resources) {
  return resources
      .find_or_make<MutexResource>("mutex/" +
                                   node.attrs().get<std::string>("mutex"))
      .value();
}

class Acquire final : public AsyncKernel {
 public:
  Acquire(const Node& node, Resources& resources)
      : lock_(mutex_of(node, resources)) {}
  void start(KernelContext& c, Done done) override {
    lock_->acquire(c, std::move(done));
  }

 private:
  const std::shared_ptr<MutexResource> lock_;
};

class Release final : public Kernel {
 public:
  Release(const Node& node, Resources& resources)
      : name_(node.attrs().get<std::string>("mutex")),
        lock_(mutex_of(node, resources)) {}
  Status run(KernelContext& c) override {
    if (c.input(0).count() == 1 &&
        HeldLocks::of(c)->release(index_at(c.input(0), 0), *lock_))
      return {};
    return error(Code::kInvalidArgument,
                 "this run does not hold the lock \"{}\", or not under this "
                 "number: it is what MutexAcquire gave",
                 name_);
  }

 private:
  const std::string name_;
  const std::shared_ptr<MutexResource> lock_;
};

}  // namespace

void register_mutex_kernels(KernelRegistry& kernels) {
  kernels.add("MutexAcquire", "cpu", from_class<Acquire>());
  kernels.add("MutexRelease", "cpu", from_class<Release>());
}

}  // namespace rondo
