// An operation of one's own: Cube, with its shape, kernel and gradient, as a
// shared library. custom_op_main.cc and custom_op.py load it. By hand:
//
//   g++ -std=c++20 -fPIC -shared custom_op.cc -o custom_op.so -lrondo -lfmt
#include <rondo/graph.h>
#include <rondo/kernels/op_library.h>

namespace {

using namespace rondo;

// The output is like the input.
Status infer_cube(InferContext& c) {
  c.output(c.dtype(0), c.shape(0));
  return {};
}

// d(x³) = 3x² dx, by operations that are there already.
std::vector<Gradient> cube_gradient(Node& node, std::span<const Value> grads) {
  const Value x = node.input(0);
  return {grads[0] * square(x) * constant(x.graph(), 3, x.dtype())};
}

template <class T>
void cube(const Tensor& x, Tensor& y) {
  const auto from = x.span<T>();
  const auto to = y.span<T>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = from[i] * from[i] * from[i];
}

Status run_cube(const Node&, KernelContext& c) {
  const Tensor& x = c.input(0);
  Tensor& y = c.allocate(0, x.dtype(), x.shape());
  if (x.dtype() == DType::kF64)
    cube<double>(x, y);
  else if (x.dtype() == DType::kF32)
    cube<float>(x, y);
  else
    return error(Code::kInvalidArgument, "it has type {}, expected f32 or f64",
                 name_of(x.dtype()));
  return {};
}

}  // namespace

RONDO_OP_LIBRARY(library) {
  library.add_op({.name = "Cube",
                  .doc = "The third power of every element.",
                  .inputs = {{"x", TypeSet::kFloat}},
                  .outputs = {"y"},
                  .infer = infer_cube,
                  .gradient = cube_gradient});
  library.add_kernel("Cube", "cpu", from_function(run_cube));
}
