// Containers: sets of resources by name. What a node keeps between steps is in
// the container that its attribute "container" names; "" is the one of all
// nodes that say nothing.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "rondo/graph/node.h"
#include "rondo/kernels/resources.h"

namespace rondo {

// Owned by a worker, and shared by all sessions that use it. A container, once
// made, stays at its place. Any thread.
class RONDO_API Containers {
 public:
  Resources& find_or_make(std::string_view name);
  Resources& of(const Node& node);
  // What is in a container goes; graphs that were compiled before keep it as
  // long as they live.
  void clear(std::string_view name);
  void clear_all();

 private:
  std::mutex mutex_;
  std::map<std::string, Resources, std::less<>> by_name_;  // guarded by mutex_
};

}  // namespace rondo
