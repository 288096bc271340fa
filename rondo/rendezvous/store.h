// Store: a small key-value service where the ranks of a job publish addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"

namespace rondo {

// Keys are written once in normal use; a second set replaces. All methods may
// be called from several threads. Derive from this to plug in a store of your
// own.
class RONDO_API Store {
 public:
  virtual ~Store() = default;
  virtual Status set(const std::string& key, std::string_view value) = 0;
  // The value, waiting for it until the deadline. The kTimeout error names the
  // key and the store.
  virtual Result<std::string> get(const std::string& key,
                                  Deadline deadline) = 0;
  // Adds to a counter that starts at 0 and returns the new value.
  virtual Result<int64_t> add(const std::string& key, int64_t amount) = 0;
  // Removes a key; not an error when there is none.
  virtual Status remove(const std::string& key) = 0;
  // "tcp://10.0.0.1:4000", "file:///tmp/job", "memory": for messages.
  virtual std::string name() const = 0;
};

// A view of `store` in which every key has `prefix` + "/" in front.
RONDO_API std::shared_ptr<Store> prefix_store(std::shared_ptr<Store> store,
                                              std::string prefix);

// Within one process: ranks as threads share the pointer.
RONDO_API std::shared_ptr<Store> make_memory_store();
// One file per key in a folder (local, or on a file system that all hosts see).
// The folder is made when it is not there, for this user only, and belongs to
// one job: keys of an older one would be taken for this one's.
RONDO_API Result<std::shared_ptr<Store>> open_file_store(
    const std::string& folder);

}  // namespace rondo
