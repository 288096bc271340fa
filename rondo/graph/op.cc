#include "rondo/graph/op.h"

#include "rondo/graph/known_ints.h"

namespace rondo {

bool contains(TypeSet set, DType dtype) {
  const bool real = dtype == DType::kF64 || dtype == DType::kF32 ||
                    dtype == DType::kF16 || dtype == DType::kBF16;
  switch (set) {
    case TypeSet::kAnyType: return true;
    case TypeSet::kNumber: return dtype != DType::kBool;
    case TypeSet::kFloat: return real;
    case TypeSet::kInteger: return !real && dtype != DType::kBool;
    case TypeSet::kBoolean: return dtype == DType::kBool;
    case TypeSet::kIndex: return dtype == DType::kI32 || dtype == DType::kI64;
  }
  return false;
}

std::string_view name_of(TypeSet set) {
  switch (set) {
    case TypeSet::kAnyType: return "any type";
    case TypeSet::kNumber: return "a number";
    case TypeSet::kFloat: return "a floating-point type";
    case TypeSet::kInteger: return "an integer type";
    case TypeSet::kBoolean: return "bool";
    case TypeSet::kIndex: return "i32 or i64";
  }
  return "?";
}

std::optional<Ints> InferContext::constant_ints(int i) const {
  return known_ints(at(i));
}

Status InferContext::want_rank(int i, int rank, std::string_view name) const {
  if (!shape(i).has_rank() || shape(i).rank() == rank) return {};
  return error(Code::kInvalidArgument, "{} has rank {}, expected {}", name,
               shape(i).rank(), rank);
}

double bytes_of(const TensorType& type) {
  double bytes = static_cast<double>(size_of(type.dtype));
  if (type.shape.has_rank())
    for (const int64_t extent : type.shape.extents())
      if (extent != kAny) bytes *= static_cast<double>(extent);
  return bytes;
}

OpCost cost_of(const Node& node) {
  if (node.op().cost) return node.op().cost(node);
  OpCost cost;
  for (const Value& input : node.inputs())
    cost.bytes += bytes_of({input.dtype(), input.shape()});
  for (const TensorType& output : node.outputs())
    cost.bytes += bytes_of(output);
  return cost;
}

}  // namespace rondo
