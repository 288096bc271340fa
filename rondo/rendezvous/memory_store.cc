#include <algorithm>
#include <map>

#include "rondo/base/mutex.h"
#include "rondo/rendezvous/store.h"
#include "rondo/rendezvous/store_rules.h"

namespace rondo {
namespace {

class MemoryStore : public Store {
 public:
  Status set(const std::string& key, std::string_view value) override {
    RONDO_RETURN_IF_ERROR(check_key(key));
    RONDO_RETURN_IF_ERROR(check_value(key, value));
    MutexLock lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
    return {};
  }

  Result<std::string> get(const std::string& key, Deadline deadline) override {
    RONDO_RETURN_IF_ERROR(check_key(key));
    MutexLock lock(mutex_);
    for (;;) {
      if (auto it = values_.find(key); it != values_.end()) return it->second;
      if (deadline.passed()) return key_timeout(key, name());
      // In slices: the deadline may come early (Interrupt).
      changed_.wait_for(mutex_,
                        std::min<Duration>(deadline.left(), seconds(0.1)));
    }
  }

  Result<int64_t> add(const std::string& key, int64_t amount) override {
    RONDO_RETURN_IF_ERROR(check_key(key));
    MutexLock lock(mutex_);
    auto it = values_.find(key);
    RONDO_ASSIGN_OR_RETURN(
        const int64_t value,
        add_to_counter(key, it == values_.end() ? "" : it->second, amount));
    values_[key] = std::to_string(value);
    changed_.notify_all();
    return value;
  }

  Status remove(const std::string& key) override {
    RONDO_RETURN_IF_ERROR(check_key(key));
    MutexLock lock(mutex_);
    values_.erase(key);
    return {};
  }

  std::string name() const override { return "memory"; }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::string> values_ RONDO_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<Store> make_memory_store() {
  return std::make_shared<MemoryStore>();
}

}  // namespace rondo
