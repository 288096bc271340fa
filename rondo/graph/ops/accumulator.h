// Accumulators: gradients that several runs give and one takes, averaged.
//
// An accumulator counts steps, from 0. A gradient comes with the step for which
// it was computed, and is dropped when that is over. Who takes waits until
// enough gradients are there, gets their average, and begins the next step. All
// operations on it ask for the device whose scope it was made in.
#pragma once

#include <string>

#include "rondo/graph/graph.h"

namespace rondo {

struct AccumulatorOptions {
  DType dtype = DType::kF32;  // a floating-point type
  PartialShape shape = {};    // of the gradients; unknown: that of the first
  std::string reduction_type = "MEAN";  // or "SUM"
  std::string name = {};
  // Accumulators of one shared name are one; empty: this one's own name.
  std::string shared_name = {};
};

// What both kinds do. A handle: copies are the same accumulator. The graph must
// outlive it.
class RONDO_API AccumulatorBase {
 public:
  // Gradients of steps before this one are stale. It never goes back.
  Node& set_global_step(Value step) const;
  // The same, be it an earlier step: after a checkpoint was restored. What it
  // has stays.
  Node& resume_at(Value step) const;
  // Gradients that nobody has taken yet: i64.
  Value num_accumulated() const;
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  Graph& graph() const { return *graph_; }

 protected:
  AccumulatorBase(Graph& graph, const AccumulatorOptions& options, bool sparse,
                  std::string_view default_name);
  Node& add(std::string_view op, std::vector<Value> inputs) const;

 private:
  Graph* graph_;
  std::string name_;
  std::string device_;
  DType dtype_;
  Attrs attrs_;
};

class RONDO_API ConditionalAccumulator : public AccumulatorBase {
 public:
  explicit ConditionalAccumulator(Graph& graph,
                                  const AccumulatorOptions& options = {});
  // Adds a gradient of step `local_step`, an i64 scalar; drops a stale one.
  Node& apply_grad(Value gradient, Value local_step) const;
  // The average of all gradients, once there are at least so many.
  Value take_grad(Value num_required) const;
};

// Of gradients that are rows of a tensor. Each row that is taken is the average
// of those gradients that have it.
class RONDO_API SparseConditionalAccumulator : public AccumulatorBase {
 public:
  explicit SparseConditionalAccumulator(Graph& graph,
                                        const AccumulatorOptions& options = {});
  // The gradient's shape is checked where it is known.
  Node& apply_grad(const Gradient& gradient, Value local_step) const;
  // Rows in the order of their indices, each index once.
  Gradient take_grad(Value num_required) const;
};

}  // namespace rondo
