// 16-bit floating point as f32, for kernels that compute in f32 and f64 only.
#pragma once

#include "rondo/kernels/kernel.h"

namespace rondo {

// f32 for the 16-bit types, otherwise the type itself.
DType wide(DType dtype);
// x itself where its type is wide, otherwise its elements as f32.
Tensor widen(KernelContext& c, const Tensor& x);

// Output i of a kernel that computes in wide(dtype): write to tensor(), then
// finish().
class WideOutput {
 public:
  WideOutput(KernelContext& c, int i, DType dtype, const Shape& shape);
  Tensor& tensor() { return wide_; }
  void finish();

 private:
  Tensor* output_;
  Tensor wide_;
};

// f.template operator()<T>() with the C++ type of wide(dtype).
template <class F>
auto dispatch_wide(DType dtype, const F& f) {
  return wide(dtype) == DType::kF64 ? f.template operator()<double>()
                                    : f.template operator()<float>();
}

// An error unless x, an input of this name, has the shape.
Status want_shape(const Tensor& x, const Shape& shape, std::string_view name);

}  // namespace rondo
