#include "rondo/kernels/cpu/widen.h"

#include "rondo/kernels/cpu/dispatch.h"
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {
namespace {

template <class From, class To>
void convert(const Tensor& from, Tensor& to) {
  const From* x = from.span<From>().data();
  To* y = to.span<To>().data();
  parallel_for(from.count(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = store<To>(load(x[i]));
  });
}

}  // namespace

DType wide(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

Tensor widen(KernelContext& c, const Tensor& x) {
  if (wide(x.dtype()) == x.dtype()) return x;
  Tensor y = c.scratch(DType::kF32, x.shape());
  if (x.dtype() == DType::kF16)
    convert<Half, float>(x, y);
  else
    convert<BFloat16, float>(x, y);
  return y;
}

WideOutput::WideOutput(KernelContext& c, int i, DType dtype,
                       const Shape& shape) {
  output_ = &c.allocate(i, dtype, shape);
  wide_ = wide(dtype) == dtype ? *output_ : c.scratch(wide(dtype), shape);
}

void WideOutput::finish() {
  if (wide_.dtype() == output_->dtype()) return;
  if (output_->dtype() == DType::kF16)
    convert<float, Half>(wide_, *output_);
  else
    convert<float, BFloat16>(wide_, *output_);
}

Status want_shape(const Tensor& x, const Shape& shape, std::string_view name) {
  if (x.shape() == shape) return {};
  return error(Code::kInvalidArgument, "{} has shape {}, expected {}", name,
               x.shape().to_string(), shape.to_string());
}

}  // namespace rondo
