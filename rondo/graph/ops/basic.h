// Constants, placeholders, and what is known about a tensor: the operations
// that every other file builds on.
#pragma once

#include <concepts>
#include <string>

#include "rondo/graph/graph.h"

namespace rondo {

struct PlaceholderOptions {
  DType dtype = DType::kF32;
  PartialShape shape = {};
  std::string name = {};
};
// A value that every run must be given.
RONDO_API Value placeholder(Graph& graph, PlaceholderOptions options = {});
RONDO_API Value constant(Graph& graph, Tensor value, std::string name = {});
// A scalar.
RONDO_API Value constant(Graph& graph, double value, DType dtype);
// A vector of i64, as shapes are.
RONDO_API Value constant_ints(Graph& graph, const Ints& values);
RONDO_API Value fill(Graph& graph, const Shape& shape, double value,
                     DType dtype = DType::kF32);
// `shape` is a vector of i32 or i64, `value` a scalar.
RONDO_API Value fill(Value shape, Value value);
inline Value zeros(Graph& graph, const Shape& shape,
                   DType dtype = DType::kF32) {
  return fill(graph, shape, 0, dtype);
}
inline Value ones(Graph& graph, const Shape& shape, DType dtype = DType::kF32) {
  return fill(graph, shape, 1, dtype);
}
RONDO_API Value zeros_like(Value x);
RONDO_API Value ones_like(Value x);
RONDO_API Value identity(Value x, std::string name = {});
// x, through which no gradient flows back.
RONDO_API Value stop_gradient(Value x);
// The extents as a vector of i64; a constant where they are all known.
RONDO_API Value shape_of(Value x);
RONDO_API Value rank_of(Value x);
RONDO_API Value size_of(Value x);
// The same elements; one extent of `shape` may be -1, which means the rest.
RONDO_API Value reshape(Value x, const Ints& shape);
RONDO_API Value reshape(Value x, Value shape);
RONDO_API Value cast(Value x, DType dtype);
// A node that does nothing after all of these have run.
RONDO_API Node& group(Graph& graph, const std::vector<Node*>& nodes,
                      std::string name = {});

}  // namespace rondo
