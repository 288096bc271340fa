// Element-wise operations on whole tensors, for kernels.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "rondo/kernels/cpu/elementwise_loops.h"
#include "rondo/kernels/kernel_registry.h"

namespace rondo {

// y = op(x), of one type and count; y may be x.
void run_unary(UnaryOp op, const Tensor& x, Tensor& y, double alpha = 0);
// out = a op b, both broadcast to out's shape; out may be one of the two that
// has as many elements. Refuses division of integers by zero.
Status run_binary(BinaryOp op, const Tensor& a, const Tensor& b, Tensor& out);
// The loop behind an operation's name; the names of gelu's tanh forms are
// "GeluTanh" and "GeluTanhGrad". nullopt: none.
std::optional<UnaryOp> unary_named(std::string_view name);
std::optional<BinaryOp> binary_named(std::string_view name);
// Of dy and something of the same shape.
bool is_gradient(BinaryOp op);
// Output 0 in the memory of the first of `inputs` that nobody else needs and
// that has as many bytes, or in new memory.
Tensor& output_in_place(KernelContext& c, DType dtype, const Shape& shape,
                        std::initializer_list<int> inputs);
// The extents that a vector of i32 or i64 holds; an error when one is negative.
Result<Shape> shape_from(const Tensor& extents);

// A part of register_elementwise_kernels.
void register_logic_kernels(KernelRegistry& kernels);

}  // namespace rondo
