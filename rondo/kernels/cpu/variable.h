// What kernels that read or change variables share.
#pragma once

#include <memory>
#include <string>

#include "rondo/kernels/kernel.h"

namespace rondo {

// The name of the variable that a node reads or changes.
inline std::string variable_of(const Node& node) {
  const auto& name = node.attrs().get<std::string>("variable");
  return name.empty() ? node.name() : name;
}

inline std::shared_ptr<VariableResource> find_variable(const Node& node,
                                                       Resources& resources) {
  return resources
      .find_or_make<VariableResource>("variable/" + variable_of(node))
      .value();
}

inline Status not_initialized(const std::string& name) {
  return error(
      Code::kInvalidArgument,
      "the variable \"{}\" has no value yet: run the initializer first", name);
}

// Whether `shape` is the variable's; the caller holds its mutex.
inline Status check_shape(const VariableResource& variable,
                          const std::string& name, const Shape& shape,
                          std::string_view what) {
  if (!variable.initialized) return not_initialized(name);
  if (variable.value.shape() == shape) return {};
  return error(Code::kInvalidArgument,
               "{} has shape {}, the variable \"{}\" {}", what,
               shape.to_string(), name, variable.value.shape().to_string());
}

// The variable's value for changing in place: a copy of its own where somebody
// else still holds the old one. The caller holds its mutex.
inline Tensor& own_value(VariableResource& variable) {
  if (!variable.value.unique()) variable.value = variable.value.clone();
  return variable.value;
}

// Element k of a tensor of i32 or i64.
inline int64_t index_at(const Tensor& indices, int64_t k) {
  return indices.dtype() == DType::kI32
             ? indices.span<int32_t>()[static_cast<size_t>(k)]
             : indices.span<int64_t>()[static_cast<size_t>(k)];
}

}  // namespace rondo
