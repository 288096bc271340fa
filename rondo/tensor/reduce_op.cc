// The names of the operators, and which of them a dtype has.
#include <array>
#include <string>

#include "rondo/tensor/reduce.h"

namespace rondo {
namespace {

// Indexed by ReduceOp.
constexpr std::array<std::string_view, 9> kNames = {
    "sum", "avg", "prod", "min", "max", "band", "bor", "bxor", "user"};

bool is_float(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

bool is_bitwise(ReduceOp op) {
  return op == ReduceOp::kBand || op == ReduceOp::kBor || op == ReduceOp::kBxor;
}

bool defined(ReduceOp op, DType dtype) {
  if (is_bitwise(op)) return !is_float(dtype);
  if (op == ReduceOp::kAvg) return dtype != DType::kBool;
  return true;
}

}  // namespace

std::string_view name_of(ReduceOp op) {
  return kNames[static_cast<size_t>(op)];
}

std::optional<ReduceOp> reduce_op_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<ReduceOp>(i);
  return std::nullopt;
}

Status check_reduce(ReduceOp op, DType dtype) {
  // The numbers may have come over the wire or through the C API.
  if (static_cast<size_t>(op) >= kNames.size())
    return error(Code::kInvalidArgument,
                 "{} is not the number of a reduction operator; they are 0 "
                 "(sum) to {} (user)",
                 static_cast<int>(op), kNames.size() - 1);
  if (static_cast<int>(dtype) >= kDTypeCount)
    return error(Code::kInvalidArgument,
                 "{} is not the number of a dtype; they are 0 (f64) to {} "
                 "(bool)",
                 static_cast<int>(dtype), kDTypeCount - 1);
  if (defined(op, dtype)) return {};
  std::string usable;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (!defined(static_cast<ReduceOp>(i), dtype)) continue;
    if (!usable.empty()) usable += ", ";
    usable += kNames[i];
  }
  return error(Code::kInvalidArgument,
               "{} is not defined for {}; use one of {}", name_of(op),
               name_of(dtype), usable);
}

}  // namespace rondo
