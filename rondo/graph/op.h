// OpDef: what an operation is, apart from how a device computes it.
//
// An operation is entered in the OpRegistry with its inputs, outputs,
// attributes and documentation, and up to three functions: `infer` (types and
// shapes of the outputs, checked when a node is made), `gradient` (the nodes
// that compute the gradients of its inputs) and `cost` (work of one run, which
// placement and planning read). Kernels are registered elsewhere, by device.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/graph/node.h"

namespace rondo {

// Which element types an input may have.
enum class TypeSet { kAnyType, kNumber, kFloat, kInteger, kBoolean, kIndex };
RONDO_API bool contains(TypeSet set, DType dtype);
RONDO_API std::string_view name_of(TypeSet set);

struct InputSpec {
  std::string_view name;
  TypeSet types = TypeSet::kAnyType;
  // Any number of tensors; only the last input may be a list.
  bool list = false;
  // Inputs of one group share their element type; 0: none.
  int type_group = 1;
};

struct AttrSpec {
  std::string_view name;
  // What it is when the program does not say; its kind is the attribute's. An
  // attribute that is required has only the kind to give.
  AttrValue value;
  bool required = false;
  std::string_view doc = "";
};

// Floating-point operations and bytes read and written by one run.
struct OpCost {
  double flops = 0;
  double bytes = 0;
};

// What `infer` sees of the node that is being made, and where it puts its
// outputs' types. The number and element types of the inputs and the kinds of
// the attributes have been checked.
class RONDO_API InferContext {
 public:
  InferContext(std::span<const Value> inputs, const Attrs& attrs)
      : inputs_(inputs), attrs_(attrs) {}

  int inputs() const { return static_cast<int>(inputs_.size()); }
  DType dtype(int i) const { return at(i).dtype(); }
  const PartialShape& shape(int i) const { return at(i).shape(); }
  const Value& at(int i) const { return inputs_[static_cast<size_t>(i)]; }
  template <class T>
  const T& attr(std::string_view name) const {
    return attrs_.get<T>(name);
  }
  const Attrs& attrs() const { return attrs_; }
  // The integers of input i where they are known while building: a constant,
  // or what is known of a tensor's shape (kAny for an unknown extent), or what
  // is computed from these.
  std::optional<Ints> constant_ints(int i) const;

  // Checks; the error names the input and both ranks.
  Status want_rank(int i, int rank, std::string_view name) const;
  Status want_scalar(int i, std::string_view name) const {
    return want_rank(i, 0, name);
  }

  void output(DType dtype, PartialShape shape) {
    outputs_.push_back({dtype, std::move(shape)});
  }
  std::vector<TensorType> take_outputs() { return std::move(outputs_); }

 private:
  std::span<const Value> inputs_;
  const Attrs& attrs_;
  std::vector<TensorType> outputs_;
};

// A gradient: of the shape of what it belongs to; or, with `indices`, sparse:
// row values[k] belongs to row indices[k] of a tensor of `shape` (an i64
// vector), rows of the same index add up. Empty: none, which counts as zero.
struct RONDO_API Gradient {
  Value values;
  Value indices;
  Value shape;

  Gradient() = default;
  Gradient(Value dense) : values(dense) {}
  Gradient(Value rows, Value at, Value dense_shape)
      : values(rows), indices(at), shape(dense_shape) {}
  explicit operator bool() const { return static_cast<bool>(values); }
  bool sparse() const { return static_cast<bool>(indices); }
};

using InferFn = Status (*)(InferContext&);
// One gradient per input, from one dense gradient per output (empty where
// nothing depends on that output).
using GradientFn = std::vector<Gradient> (*)(Node& node,
                                             std::span<const Value> grads);
// With every shape that `node` has known; shapes are read through the node.
using CostFn = OpCost (*)(const Node& node);

enum class OpKind {
  kPure,      // same inputs, same outputs: may be folded, shared, left out
  kStateful,  // reads or changes state, random numbers, I/O: kept as written
};

struct OpDef {
  std::string_view name;
  std::string_view doc;
  std::vector<InputSpec> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttrSpec> attrs;
  InferFn infer = nullptr;
  // Without one, gradients() fails at a node of this operation, unless
  // `constant` says that nothing flows back through it.
  GradientFn gradient = nullptr;
  bool constant = false;
  CostFn cost = nullptr;  // none: bytes of inputs and outputs
  OpKind kind = OpKind::kPure;
  // Whether it may wait for what other nodes of the same run do, such as a
  // taker of a queue: passes then must not make those wait for it.
  bool waits = false;
};

// The cost of a run of `node` by its operation, or by its bytes.
RONDO_API OpCost cost_of(const Node& node);
// Bytes of one tensor; unknown extents count as 1.
RONDO_API double bytes_of(const TensorType& type);

}  // namespace rondo
