#include "operators.h"

#include <c10/util/Exception.h>

namespace rondo::torch {
namespace {

bool is_unsigned_as_signed(at::ScalarType dtype) {
  return dtype == at::kUInt16 || dtype == at::kUInt32 || dtype == at::kUInt64;
}

// Whether reducing what stands for such an element reduces the element.
bool reducible(ReduceOp op, at::ScalarType dtype) {
  if (c10::isComplexType(dtype))
    return op == ReduceOp::kSum || op == ReduceOp::kAvg;
  if (is_unsigned_as_signed(dtype))
    return op != ReduceOp::kMin && op != ReduceOp::kMax && op != ReduceOp::kAvg;
  const ElementKind kind = kind_of(dtype);
  return kind.per == 1 && (kind.dtype != DType::kU8 || dtype == at::kByte);
}

ReduceOp rondo_op(c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::PREMUL_SUM: return ReduceOp::kSum;
    case c10d::ReduceOp::AVG: return ReduceOp::kAvg;
    case c10d::ReduceOp::PRODUCT: return ReduceOp::kProd;
    case c10d::ReduceOp::MIN: return ReduceOp::kMin;
    case c10d::ReduceOp::MAX: return ReduceOp::kMax;
    case c10d::ReduceOp::BAND: return ReduceOp::kBand;
    case c10d::ReduceOp::BOR: return ReduceOp::kBor;
    case c10d::ReduceOp::BXOR: return ReduceOp::kBxor;
    case c10d::ReduceOp::UNUSED: break;
  }
  C10_THROW_ERROR(ValueError, "rondo: unknown ReduceOp");
}

}  // namespace

ReduceOp reduce_op(const c10d::ReduceOp& op, at::ScalarType dtype) {
  const ReduceOp found = rondo_op(op.op_);
  if (op.op_ == c10d::ReduceOp::PREMUL_SUM) {
    TORCH_CHECK_VALUE(op.supplement_ != nullptr,
                      "rondo: PREMUL_SUM without a factor");
    TORCH_CHECK_VALUE(c10::isFloatingType(dtype) || c10::isComplexType(dtype),
                      "rondo: PREMUL_SUM is not defined for ",
                      c10::toString(dtype),
                      " tensors; convert them to floating point");
  }
  TORCH_CHECK_VALUE(reducible(found, dtype), "rondo: operator ",
                    std::string(name_of(found)), " is not defined for ",
                    c10::toString(dtype),
                    " tensors; convert them to a dtype for which it is");
  const Status status = check_reduce(found, kind_of(dtype).dtype);
  TORCH_CHECK_VALUE(status.ok(), "rondo: ", status.message());
  return found;
}

void scale(const c10d::ReduceOp& op, at::Tensor& tensor) {
  if (op.op_ != c10d::ReduceOp::PREMUL_SUM) return;
  const auto* factor =
      static_cast<const c10d::PreMulSumSupplement*>(op.supplement_.get());
  if (factor->tensor_factor.defined())
    tensor.mul_(factor->tensor_factor.to(tensor.scalar_type()));
  else
    tensor.mul_(factor->double_factor);
}

void check_dense(const char* operation, const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(
      tensor.device().is_cpu(), "rondo: ", operation, ": a tensor is on ",
      tensor.device().str(),
      ", and this build of Rondo reduces tensors on the CPU only; move it with "
      ".cpu()");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, "rondo: ", operation,
                    ": a tensor has layout ", tensor.layout(),
                    "; only all_reduce takes sparse tensors");
}

at::Tensor& only(const char* operation, std::vector<at::Tensor>& tensors) {
  TORCH_CHECK_VALUE(tensors.size() == 1, "rondo: ", operation,
                    " takes one tensor, not ", tensors.size());
  check_dense(operation, tensors[0]);
  return tensors[0];
}

}  // namespace rondo::torch
