// The part of Step that looks into tensors, or has them looked into, on the
// host: the device's memory may be another.
#include "rondo/runtime/step.h"

namespace rondo {

Status Step::take_feeds(Iteration& iteration) {
  for (size_t i = 0; i < feeds_.size(); ++i) {
    // One of no elements may come without memory, which here would mean dead.
    if (!feeds_[i].has_buffer())
      feeds_[i] = Tensor::empty(feeds_[i].shape(), feeds_[i].dtype());
    const Tensor fed = device_.from_host(feeds_[i]);
    for (const StepPlan::Edge& edge : plan_.feeds[i])
      deliver(root_, iteration, edge,
              edge.output == StepPlan::kControl ? Tensor() : fed, false, false);
  }
  return {};
}

// As the kernel wants them: row-major unless it knows of layouts, and in the
// host's memory where it says so.
void Step::bring_inputs(const StepPlan::Item& it,
                        std::span<Tensor> inputs) const {
  if (!it.takes_layouts)
    for (Tensor& tensor : inputs)
      if (tensor.layout() != Layout::kRowMajor)
        tensor = device_.row_major(tensor);
  if (!it.host_sides) return;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (it.host_sides->host_input(static_cast<int>(i)))
      inputs[i] = device_.to_host(inputs[i]);
}

// To where all others expect them.
void Step::bring_outputs(const StepPlan::Item& it,
                         std::span<Tensor> outputs) const {
  if (!it.host_sides) return;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].has_buffer() &&
        it.host_sides->host_output(static_cast<int>(i)))
      outputs[i] = device_.from_host(outputs[i]);
}

// Which way a switch goes.
Status Step::decide(const Ready& ready) const {
  const Tensor& condition = inputs_of(ready)[1];
  if (condition.count() != 1)
    return error(Code::kInvalidArgument,
                 "the condition has shape {}, expected a scalar",
                 condition.shape().to_string());
  const bool yes = device_.in_host_memory()
                       ? condition.span<bool>()[0]
                       : device_.to_host(condition).span<bool>()[0];
  const auto local = static_cast<size_t>(item(ready.item).local);
  ready.iteration->has_live[local] = yes ? 2 : 1;
  return {};
}

// A scalar on the device.
Tensor Step::number(int64_t value) const {
  Tensor host = device_.in_host_memory()
                    ? device_.allocator().allocate(DType::kI64, {})
                    : Tensor::empty({}, DType::kI64);
  host.span<int64_t>()[0] = value;
  return device_.from_host(host);
}

}  // namespace rondo
