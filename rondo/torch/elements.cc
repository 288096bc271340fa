#include "rondo/torch/elements.h"

namespace rondo::torch {

ElementKind kind_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble: return {DType::kF64, 1};
    case at::kFloat: return {DType::kF32, 1};
    case at::kHalf: return {DType::kF16, 1};
    case at::kBFloat16: return {DType::kBF16, 1};
    case at::kLong:
    case at::kUInt64: return {DType::kI64, 1};
    case at::kInt:
    case at::kUInt32: return {DType::kI32, 1};
    case at::kShort:
    case at::kUInt16: return {DType::kI16, 1};
    case at::kChar: return {DType::kI8, 1};
    case at::kByte: return {DType::kU8, 1};
    case at::kBool: return {DType::kBool, 1};
    case at::kComplexDouble: return {DType::kF64, 2};
    case at::kComplexFloat: return {DType::kF32, 2};
    case at::kComplexHalf: return {DType::kF16, 2};
    default: return {DType::kU8, static_cast<int64_t>(c10::elementSize(dtype))};
  }
}

View view_of(const at::Tensor& tensor) {
  const ElementKind kind = kind_of(tensor.scalar_type());
  return {const_cast<void*>(tensor.const_data_ptr()), tensor.numel() * kind.per,
          kind.dtype};
}

int64_t per_element(at::ScalarType dtype) { return kind_of(dtype).per; }

std::string described(const at::Tensor& tensor) {
  return fmt::format("{} {}", c10::toString(tensor.scalar_type()),
                     Shape(tensor.sizes().vec()).to_string());
}

}  // namespace rondo::torch
