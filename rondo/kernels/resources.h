// Resources: what outlives a run, by name: variables, queues, random states.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

class Resource {
 public:
  virtual ~Resource() = default;
};

// A tensor that kernels read and change. `mutex` guards `value`.
class VariableResource final : public Resource {
 public:
  std::mutex mutex;
  Tensor value;
  bool initialized = false;
};

// Owned by whoever owns the state: a session, or a worker of a cluster. Any
// thread.
class RONDO_API Resources {
 public:
  // The resource of this name, made if there is none; an error when there is
  // one of another kind.
  template <class T>
  Result<std::shared_ptr<T>> find_or_make(std::string_view name) {
    const std::lock_guard lock(mutex_);
    auto& slot = by_name_[std::string(name)];
    if (!slot) slot = std::make_shared<T>();
    if (auto as = std::dynamic_pointer_cast<T>(slot)) return as;
    return other_kind(name);
  }
  void clear();

 private:
  static Status other_kind(std::string_view name);

  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::string, std::shared_ptr<Resource>, std::less<>> by_name_;
};

}  // namespace rondo
