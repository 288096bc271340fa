// Kernel: how one device computes one operation.
//
// A kernel is made once for a node and then run in every step, by one thread at
// a time per run but by several runs at once, so what it keeps between runs is
// either fixed when it is made, in Resources, or guarded.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/graph/graph.h"
#include "rondo/kernels/cancellation.h"
#include "rondo/kernels/resources.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// Where a device's tensors live.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Unspecified contents; throws rondo::Error when there is no memory.
  virtual Tensor allocate(DType dtype, const Shape& shape) = 0;
};

// What one run of a kernel sees. Inputs are moved in by the executor: an input
// that nobody else needs any more is this run's alone, and its memory may
// become an output's.
class RONDO_API KernelContext {
 public:
  KernelContext(Allocator& allocator, Resources& resources, Resources& of_run,
                Cancellation& cancellation, std::span<Tensor> inputs,
                std::span<Tensor> outputs)
      : allocator_(&allocator),
        resources_(&resources),
        of_run_(&of_run),
        cancellation_(&cancellation),
        inputs_(inputs),
        outputs_(outputs) {}

  int inputs() const { return static_cast<int>(inputs_.size()); }
  const Tensor& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  void set_input(int i, Tensor tensor) {
    inputs_[static_cast<size_t>(i)] = std::move(tensor);
  }
  Allocator& allocator() const { return *allocator_; }
  int outputs() const { return static_cast<int>(outputs_.size()); }

  Tensor& output(int i) const { return outputs_[static_cast<size_t>(i)]; }
  // New memory for output i, which it returns. The reference stays good until
  // the run ends.
  Tensor& allocate(int i, DType dtype, const Shape& shape);
  // The same, but in the memory of input `from` where nobody else needs that
  // and it has as many bytes. The input's elements stay readable until they are
  // written over.
  Tensor& allocate_or_reuse(int i, int from, DType dtype, const Shape& shape);
  // Memory for the run itself.
  Tensor scratch(DType dtype, const Shape& shape) {
    return allocator_->allocate(dtype, shape);
  }
  // An existing tensor as output i, without a copy.
  void set_output(int i, Tensor tensor) {
    outputs_[static_cast<size_t>(i)] = std::move(tensor);
  }
  Resources& resources() const { return *resources_; }
  // What lives for this run only.
  Resources& run_resources() const { return *of_run_; }
  // A kernel that waits must end its wait when this says so.
  Cancellation& cancellation() const { return *cancellation_; }

 private:
  Allocator* allocator_;
  Resources* resources_;
  Resources* of_run_;
  Cancellation* cancellation_;
  std::span<Tensor> inputs_;
  std::span<Tensor> outputs_;
};

class RONDO_API Kernel {
 public:
  virtual ~Kernel() = default;
  // Fills the outputs, or says why it cannot; the executor adds the node. An
  // output that is left empty is dead.
  virtual Status run(KernelContext& context) = 0;
  // Whether it looks at the layout of its inputs. Others get them row-major.
  virtual bool takes_layouts() const { return false; }
};

// A kernel that waits for something outside its thread: a queue, a peer.
class RONDO_API AsyncKernel : public Kernel {
 public:
  using Done = std::function<void(Status)>;
  // Starts, and calls `done` once, from any thread, maybe before it returns.
  // The context stays good until then. What it throws instead fails the run.
  virtual void start(KernelContext& context, Done done) = 0;
  Status run(KernelContext& context) final;
};

}  // namespace rondo
