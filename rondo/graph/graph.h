// Graph: the nodes of a program, in the order in which they were made.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rondo/graph/flow_context.h"
#include "rondo/graph/node.h"
#include "rondo/graph/op.h"

namespace rondo {

// What Graph::add needs to make a node.
struct NodeArgs {
  std::string_view op;
  std::vector<Value> inputs = {};
  Attrs attrs = {};
  // Put behind the name scope and made unique; empty: the operation's name.
  std::string name = {};
  std::vector<Node*> control_inputs = {};
  std::string origin = {};
};

// Something of the program's that nodes refer to by name and that no file
// keeps, such as a data set. Fixed once it is attached.
class Attachment {
 public:
  virtual ~Attachment() = default;
};

// Nodes are only ever added, so a session that compiled a part of the graph
// stays right while the program goes on building. One thread at a time builds;
// others may read nodes meanwhile while they hold still().
//
// Wrong arguments throw rondo::Error at the call that is wrong, with the
// operation, its name, and the shapes.
class RONDO_API Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Node& add(NodeArgs args);
  // While what it returns lives, nodes and edges neither come nor change. Who
  // holds it must not build.
  [[nodiscard]] std::shared_lock<std::shared_mutex> still() const {
    return std::shared_lock(mutex_);
  }

  // In order of creation; inputs come before the nodes that use them, but for
  // the edges that close loops.
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // nullptr when there is none.
  Node* find(std::string_view name) const;
  // "name" or "name:1"; throws when there is none.
  Value value(std::string_view name) const;
  // The same graph again, in its own memory.
  std::unique_ptr<Graph> clone() const;
  // Only the nodes whose place in `wanted`, indexed by id, is true, and no
  // collections; what they take from others is left empty for the caller to
  // set.
  std::unique_ptr<Graph> clone_of(const std::vector<bool>& wanted) const;

  // The name that the next node with this one gets: within the scopes, and with
  // "_1", "_2", … behind it where it is taken.
  std::string unique_name(std::string_view name);
  const std::string& name_scope() const { return name_scope_; }
  const std::string& device_scope() const { return device_; }

  // Named lists of values that parts of a program keep for each other, such as
  // "variables" or "summaries".
  std::vector<Value>& collection(std::string_view name);
  const std::map<std::string, std::vector<Value>, std::less<>>& collections()
      const {
    return collections_;
  }

  // Under this name for good; copies of the graph share it. Throws when the
  // name is taken.
  void attach(std::string name, std::shared_ptr<const Attachment> what);
  // nullptr when there is none.
  std::shared_ptr<const Attachment> attachment(std::string_view name) const;

  // Where random operations without a seed of their own take theirs from; 0:
  // unpredictable.
  int64_t seed() const { return seed_; }
  void set_seed(int64_t seed) { seed_ = seed; }

 private:
  friend class Node;
  friend class NameScope;
  friend class DeviceScope;
  friend class ColocateScope;
  friend class ControlScope;
  friend class FlowContext;

  std::unique_lock<std::shared_mutex> change() {
    return std::unique_lock(mutex_);
  }

  // Held by the thread that builds for each change of nodes, edges and names,
  // which it alone may read without.
  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string, Node*> by_name_;
  std::unordered_map<std::string, int> name_uses_;  // of nodes and scopes
  std::map<std::string, std::vector<Value>, std::less<>> collections_;
  std::string name_scope_;  // "" or "outer/inner/"
  std::string device_;
  std::vector<std::string> colocate_;
  std::vector<Node*> control_;
  std::vector<FlowContext*> contexts_;  // outermost first
  int64_t seed_ = 0;
  std::map<std::string, std::shared_ptr<const Attachment>, std::less<>>
      attachments_;
};

// While it lives, nodes of the graph are named "name/…". A name that ends in
// "/" is a scope's whole name, as name() gives it, and is entered as it is; "/"
// alone is outside of every scope.
class RONDO_API NameScope {
 public:
  NameScope(Graph& graph, std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  // "outer/name/".
  const std::string& name() const { return graph_.name_scope(); }

 private:
  Graph& graph_;
  std::string before_;
};

// While it lives, nodes of the graph ask for this device. A partial name, such
// as "/cpu:1", replaces that part of the scope around it.
class RONDO_API DeviceScope {
 public:
  DeviceScope(Graph& graph, std::string_view device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Graph& graph_;
  std::string before_;
};

// While it lives, nodes of the graph go to the device of this one, and ask for
// what it asks for instead of what scopes around say. With `clear`, nodes that
// scopes of this kind around it name do not count.
class RONDO_API ColocateScope {
 public:
  ColocateScope(Graph& graph, const Node& with, bool clear = false);
  ~ColocateScope();
  ColocateScope(const ColocateScope&) = delete;
  ColocateScope& operator=(const ColocateScope&) = delete;

 private:
  Graph& graph_;
  std::string device_before_;
  std::vector<std::string> before_;
};

// While it lives, nodes of the graph run after these; `clear` drops what scopes
// around it asked for.
class RONDO_API ControlScope {
 public:
  ControlScope(Graph& graph, const std::vector<Node*>& before,
               bool clear = false);
  ~ControlScope();
  ControlScope(const ControlScope&) = delete;
  ControlScope& operator=(const ControlScope&) = delete;

 private:
  Graph& graph_;
  std::vector<Node*> before_;
};

// A node with one output, of the graph of its first input.
RONDO_API Value make(std::string_view op, std::vector<Value> inputs,
                     Attrs attrs = {}, std::string name = {});

}  // namespace rondo
