// PlanKey: what one compiled plan is for: feeds, fetches and targets.
#pragma once

#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/runtime/run_options.h"

namespace rondo {

// Node ids and output numbers.
using PlanKey = std::vector<int>;

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
