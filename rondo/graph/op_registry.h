// OpRegistry: all operations that this process knows, by name.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rondo/graph/op.h"

namespace rondo {

// Rondo's own operations are there from the start; a library of the user's adds
// its own when it is loaded. An operation never changes and never goes, so
// pointers to it stay good. Any thread.
class RONDO_API OpRegistry {
 public:
  static OpRegistry& process();

  // Throws when the name is taken or the definition makes no sense.
  void add(OpDef op);
  // nullptr when there is none.
  const OpDef* find(std::string_view name) const;
  // By name.
  std::vector<const OpDef*> all() const;

 private:
  OpRegistry();

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::unordered_map<std::string_view, std::unique_ptr<const OpDef>> ops_;
};

}  // namespace rondo
