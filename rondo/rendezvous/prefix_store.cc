#include "rondo/rendezvous/store.h"

namespace rondo {
namespace {

class PrefixStore : public Store {
 public:
  PrefixStore(std::shared_ptr<Store> store, std::string prefix)
      : store_(std::move(store)), prefix_(std::move(prefix) + "/") {}

  Status set(const std::string& key, std::string_view value) override {
    return store_->set(prefix_ + key, value);
  }
  Result<std::string> get(const std::string& key, Deadline deadline) override {
    return store_->get(prefix_ + key, deadline);
  }
  Result<int64_t> add(const std::string& key, int64_t amount) override {
    return store_->add(prefix_ + key, amount);
  }
  Status remove(const std::string& key) override {
    return store_->remove(prefix_ + key);
  }
  std::string name() const override { return store_->name(); }

 private:
  const std::shared_ptr<Store> store_;
  const std::string prefix_;
};

}  // namespace

std::shared_ptr<Store> prefix_store(std::shared_ptr<Store> store,
                                    std::string prefix) {
  return std::make_shared<PrefixStore>(std::move(store), std::move(prefix));
}

}  // namespace rondo
