// PlanKey: what one compiled plan is for: feeds, fetches and targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/runtime/run_options.h"

namespace rondo {

// Node ids and output numbers.
using PlanKey = std::vector<int>;

struct PlanKeyHash {
  // Each number is mixed into what is there (the steps of FNV-1a, in words).
  size_t operator()(const PlanKey& key) const {
    uint64_t hash = 14695981039346656037U;
    for (const int number : key) {
      hash ^= static_cast<uint32_t>(number);
      hash *= 1099511628211U;
      hash ^= hash >> 32;
    }
    return static_cast<size_t>(hash);
  }
};
// Looking up takes no memory.
template <class T>
using PlanMap = std::unordered_map<PlanKey, T, PlanKeyHash>;

inline void set_key(PlanKey& key, const std::vector<Value>& fetches,
                    const std::vector<Feed>& feeds,
                    const std::vector<Node*>& targets) {
  key.clear();
  auto add = [&](const Value& value) {
    key.push_back(value.node->id());
    key.push_back(value.index);
  };
  for (const Feed& feed : feeds) add(feed.value);
  key.push_back(-1);
  for (const Value& fetch : fetches) add(fetch);
  key.push_back(-1);
  for (const Node* target : targets) key.push_back(target->id());
}

}  // namespace rondo
