// FlowContext: what changes about nodes that are made within a branch or loop.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "rondo/graph/node.h"

namespace rondo {

// While one is in force, every node that Graph::add makes belongs to it: values
// from outside come in through capture(), and a node that nothing else ties to
// the context waits for pivot(), so that it runs when, and as often as, the
// branch or loop does. They nest.
class RONDO_API FlowContext {
 public:
  // From now until it is destroyed, in `graph`.
  explicit FlowContext(Graph& graph);
  virtual ~FlowContext();
  FlowContext(const FlowContext&) = delete;
  FlowContext& operator=(const FlowContext&) = delete;

  // `value`, or for one from outside what stands for it within.
  Value bring_in(Value value);
  // What a node within waits for so that it runs after `before`; nullptr: all
  // within does so anyway.
  Node* bring_in(Node& before);
  // Makes a new node, whose inputs and control inputs have been brought in, run
  // only when the context does.
  void tie(Node& node);
  // A node of the context that others can wait for.
  virtual Node& pivot() = 0;

  // While it lives, only those contexts of the graph are in force that `place`
  // belongs to, and no control scope; so nodes can be made beside it.
  class Suspend {
   public:
    explicit Suspend(const Node& place);
    ~Suspend();
    Suspend(const Suspend&) = delete;
    Suspend& operator=(const Suspend&) = delete;

   private:
    Graph& graph_;
    const int first_id_;  // of the nodes made meanwhile
    std::vector<FlowContext*> contexts_;
    std::vector<Node*> control_;
  };

 protected:
  // Called once for each value from outside, with only the contexts around this
  // one in force.
  virtual Value capture(Value value) = 0;
  // Asked before, with this context in force too: what stands for the value, or
  // empty to have it captured.
  virtual Value stand_in(Value) { return {}; }
  // What nodes within can wait for instead of a node outside, or nullptr; with
  // only the contexts around this one in force.
  virtual Node* capture(Node& before) { return &before; }
  // Whether a node within is there even when the context does not run.
  virtual bool is_free(const Node&) const { return false; }
  // Whether the context began within a control scope that waits for `before`.
  bool began_after(const Node& before) const;
  // A value from before that belongs to the context as it is.
  void admit(Value value) { captured_.emplace_back(value, value); }
  Graph& graph() const { return graph_; }

 private:
  bool is_inside(const Node& node) const;
  // Calls `make` without the contexts within this one, nor this one unless
  // `own`, and without control scopes.
  void beside(bool own, const std::function<void()>& make);

  Graph& graph_;
  const int first_id_;  // nodes below it are from outside
  const std::vector<Node*> control_around_;
  // Ranges of ids of nodes that were made meanwhile outside of it.
  std::vector<std::pair<int, int>> made_for_outer_;
  std::vector<std::pair<Value, Value>> captured_;
  std::vector<std::pair<const Node*, Node*>> captured_nodes_;
};

}  // namespace rondo
