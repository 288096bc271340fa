// CriticalSection: a lock that parts of runs take, one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// Sections of one name, in any run of a session, exclude each other; who comes
// first goes first, and who waits holds no thread. A run that ends, well or
// not, lets go what it still holds. The lock is on the device whose scope the
// section was made in; what it guards may be anywhere.
//
// A handle: copies are the same lock. The graph must outlive it.
class RONDO_API CriticalSection {
 public:
  // Sections of one shared name are one; empty: this one's own name.
  explicit CriticalSection(Graph& graph, std::string_view name = {},
                           std::string_view shared_name = {});

  // What body() gives, at least one value. The nodes that body makes wait for
  // the lock, which is let go once all that it gives is there. So a variable is
  // read under the lock by a node that body makes (read_variable), not by the
  // value of variable(). Throws when called within body.
  std::vector<Value> execute(const std::function<std::vector<Value>()>& body);

  // By hand: the lock, as an i64 scalar, and the node that lets it go.
  Value acquire() const;
  Node& release(Value lock) const;

  const std::string& name() const { return name_; }
  Graph& graph() const { return *graph_; }

 private:
  Node& add(std::string_view op, std::vector<Value> inputs) const;

  Graph* graph_;
  std::string name_;
  std::string device_;
  std::shared_ptr<bool> within_ = std::make_shared<bool>(false);
};

}  // namespace rondo
