#include "rondo/kernels/kernel.h"

#include <future>

namespace rondo {

Tensor& KernelContext::allocate(int i, DType dtype, const Shape& shape) {
  Tensor& output = outputs_[static_cast<size_t>(i)];
  output = allocator_->allocate(dtype, shape);
  return output;
}

Tensor& KernelContext::allocate_or_reuse(int i, int from, DType dtype,
                                         const Shape& shape) {
  const Tensor& input = inputs_[static_cast<size_t>(from)];
  size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(shape.count()), size_of(dtype),
                             &bytes) ||
      !input.unique() || input.bytes() != bytes)
    return allocate(i, dtype, shape);
  Tensor& output = outputs_[static_cast<size_t>(i)];
  output = input.view(dtype, shape);
  return output;
}

Status AsyncKernel::run(KernelContext& context) {
  std::promise<Status> promise;
  start(context, [&](Status status) { promise.set_value(std::move(status)); });
  return promise.get_future().get();
}

}  // namespace rondo
