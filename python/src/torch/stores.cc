#include "stores.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "durations.h"
#include "errors.h"
#include "rondo/base/env.h"
#include "signals.h"

namespace rondo::torch {
namespace {

class FromC10d final : public Store {
 public:
  explicit FromC10d(c10::intrusive_ptr<c10d::Store> store)
      : store_(std::move(store)) {}

  Status set(const std::string& key, std::string_view value) override {
    return call(key, Deadline::never(), [&] {
      store_->set(key, std::vector<uint8_t>(value.begin(), value.end()));
    });
  }
  Result<std::string> get(const std::string& key, Deadline deadline) override {
    std::string value;
    RONDO_RETURN_IF_ERROR(call(key, deadline, [&] {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::min<Duration>(deadline.left(), std::chrono::hours(24)));
      // 0 would be "for ever".
      store_->wait({key}, std::max(left, std::chrono::milliseconds(1)));
      const auto bytes = store_->get(key);
      value.assign(bytes.begin(), bytes.end());
    }));
    return value;
  }
  Result<int64_t> add(const std::string& key, int64_t amount) override {
    int64_t value = 0;
    RONDO_RETURN_IF_ERROR(call(key, Deadline::never(),
                               [&] { value = store_->add(key, amount); }));
    return value;
  }
  Status remove(const std::string& key) override {
    return call(key, Deadline::never(), [&] { store_->deleteKey(key); });
  }
  std::string name() const override {
    return "the process group's, see init_method";
  }

 private:
  template <class Body>
  Status call(const std::string& key, Deadline deadline, Body body) {
    try {
      body();
      return {};
    } catch (const std::exception& e) {
      return error(deadline.passed() ? Code::kTimeout : Code::kUnavailable,
                   "PyTorch's store, key {}: {}", key, e.what());
    }
  }

  c10::intrusive_ptr<c10d::Store> store_;
};

Duration as_duration(std::chrono::milliseconds timeout) {
  return timeout > std::chrono::milliseconds::zero()
             ? duration_of(timeout)
             : Duration(std::chrono::hours(24));
}

}  // namespace

std::shared_ptr<Store> from_c10d(c10::intrusive_ptr<c10d::Store> store) {
  return std::make_shared<FromC10d>(std::move(store));
}

JobStore::JobStore(std::chrono::milliseconds timeout) : c10d::Store(timeout) {
  job_ = value_or_throw(JobEnv::from(Env::process()));
  SignalInterrupt interrupt;
  auto opened = open_store(job_, Deadline(as_duration(timeout)));
  interrupt.after();
  store_ = value_or_throw(std::move(opened));
  store_ = prefix_store(store_, "torch");
}

c10::intrusive_ptr<c10d::Store> JobStore::clone() {
  return c10::intrusive_ptr<c10d::Store>::unsafe_reclaim_from_nonowning(this);
}

void JobStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  throw_if_error(store_->set(
      key, {reinterpret_cast<const char*>(value.data()), value.size()}));
}

std::string JobStore::get_by(const std::string& key, Deadline deadline) {
  SignalInterrupt interrupt;
  auto value = store_->get(key, deadline);
  interrupt.after();
  if (!value.ok() && value.status().code() == Code::kTimeout)
    C10_THROW_ERROR(DistStoreError, "rondo: " + value.status().message());
  return value_or_throw(std::move(value));
}

std::vector<uint8_t> JobStore::get(const std::string& key) {
  const std::string value = get_by(key, Deadline(as_duration(timeout_)));
  return {value.begin(), value.end()};
}

int64_t JobStore::add(const std::string& key, int64_t value) {
  return value_or_throw(store_->add(key, value));
}

bool JobStore::deleteKey(const std::string& key) {
  const bool there = check({key});
  throw_if_error(store_->remove(key));
  return there;
}

bool JobStore::check(const std::vector<std::string>& keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
    auto value = store_->get(key, Deadline(Duration::zero()));
    if (!value.ok() && value.status().code() == Code::kTimeout) return false;
    throw_if_error(value.status());
    return true;
  });
}

int64_t JobStore::getNumKeys() {
  C10_THROW_ERROR(NotImplementedError, "rondo: the store counts no keys");
}

void JobStore::wait(const std::vector<std::string>& keys) {
  wait(keys, timeout_);
}

void JobStore::wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) {
  const Deadline deadline(as_duration(timeout));
  for (const std::string& key : keys) get_by(key, deadline);
}

}  // namespace rondo::torch
