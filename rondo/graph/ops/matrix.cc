#include "rondo/graph/ops/matrix.h"

#include <algorithm>

#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/costs.h"
#include "rondo/graph/ops/elementwise.h"
#include "rondo/graph/ops/gradient_by_parts.h"
#include "rondo/graph/ops/matrix_infer.h"
#include "rondo/graph/ops/register.h"
#include "rondo/graph/ops/shaping.h"

namespace rondo {
namespace {

using cost::all_bytes;
using cost::elements;

double extent(const PartialShape& shape, int from_end) {
  if (!shape.has_rank() || shape.rank() < from_end) return 1;
  return static_cast<double>(
      std::max<int64_t>(1, shape[shape.rank() - from_end]));
}

OpCost product_cost(const Node& node, bool transposed_a) {
  const double inner = extent(node.input(0).shape(), transposed_a ? 2 : 1);
  return {2 * inner * elements(node.outputs()[0].shape), all_bytes(node)};
}
OpCost matmul_cost(const Node& node) {
  return product_cost(node, node.attrs().get<bool>("transpose_a"));
}
OpCost batch_matmul_cost(const Node& node) {
  return product_cost(node, node.attrs().get<bool>("adj_x"));
}

// Of a decomposition of the first input, and of what it is applied to.
OpCost solve_cost(const Node& node) {
  const PartialShape& x = node.input(0).shape();
  const double n = extent(x, 1);
  double flops = elements(x) * n * 2 / 3;
  for (const TensorType& out : node.outputs())
    flops += 2 * n * elements(out.shape);
  return {flops, all_bytes(node)};
}

std::vector<Gradient> matmul_gradient(Node& node,
                                      std::span<const Value> grads) {
  const bool ta = node.attrs().get<bool>("transpose_a");
  const bool tb = node.attrs().get<bool>("transpose_b");
  const Value a = node.input(0), b = node.input(1), g = grads[0];
  const auto product = [](Value x, Value y, bool tx, bool ty) {
    return make("MatMul", {x, y}, {{"transpose_a", tx}, {"transpose_b", ty}});
  };
  return {ta ? product(b, g, tb, true) : product(g, b, false, !tb),
          tb ? product(g, a, true, ta) : product(a, g, !ta, false)};
}

// g, which has the batch of a product, added up to the shape of `x`.
Value to_shape_of(Value x, Value g) {
  if (x.shape().known() && x.shape() == g.shape()) return g;
  return make("SumTo", {g, shape_of(x)});
}

std::vector<Gradient> batch_matmul_gradient(Node& node,
                                            std::span<const Value> grads) {
  const bool ax = node.attrs().get<bool>("adj_x");
  const bool ay = node.attrs().get<bool>("adj_y");
  const Value x = node.input(0), y = node.input(1), g = grads[0];
  const Value dx =
      ax ? batch_matmul(y, g, ay, true) : batch_matmul(g, y, false, !ay);
  const Value dy =
      ay ? batch_matmul(g, x, true, ax) : batch_matmul(x, g, !ax, false);
  return {to_shape_of(x, dx), to_shape_of(y, dy)};
}

std::vector<Gradient> inverse_gradient(Node& node,
                                       std::span<const Value> grads) {
  const Value y = node.output();
  // d(1/x) = -(1/x) dx (1/x); y is the transpose of 1/x when adjoint.
  const bool adjoint = node.attrs().get<bool>("adjoint");
  const Value g =
      adjoint ? batch_matmul(y, batch_matmul(grads[0], y, true))
              : batch_matmul(batch_matmul(y, grads[0], true), y, false, true);
  return {make("Neg", {g})};
}

std::vector<Gradient> determinant_gradient(Node& node,
                                           std::span<const Value> grads) {
  return {
      make("MatrixDeterminantGrad", {node.input(0), node.output(), grads[0]})};
}

std::vector<Gradient> determinant_grad_gradient(Node& node,
                                                std::span<const Value> grads) {
  return gradient_by_parts(node, grads, [](const std::vector<Value>& in) {
    const Value factor = expand_dims(expand_dims(in[1] * in[2], -1), -1);
    return std::vector{matrix_inverse(in[0], true) * factor};
  });
}

// -a b^T: the gradient by the matrix of a solution.
Value minus_outer(Value a, Value b) {
  return make("Neg", {batch_matmul(a, b, false, true)});
}

std::vector<Gradient> solve_gradient(Node& node, std::span<const Value> grads) {
  const bool adjoint = node.attrs().get<bool>("adjoint");
  const Value x = node.output();
  const Value rhs = matrix_solve(node.input(0), grads[0], !adjoint);
  return {adjoint ? minus_outer(x, rhs) : minus_outer(rhs, x), rhs};
}

std::vector<Gradient> triangular_gradient(Node& node,
                                          std::span<const Value> grads) {
  const bool lower = node.attrs().get<bool>("lower");
  const bool adjoint = node.attrs().get<bool>("adjoint");
  const Value x = node.output();
  const Value rhs = matrix_triangular_solve(
      node.input(0), grads[0], {.lower = lower, .adjoint = !adjoint});
  const Value full = adjoint ? minus_outer(x, rhs) : minus_outer(rhs, x);
  return {matrix_band_part(
              full, {.num_lower = lower ? -1 : 0, .num_upper = lower ? 0 : -1}),
          rhs};
}

std::vector<Gradient> cholesky_gradient(Node& node,
                                        std::span<const Value> grads) {
  return {make("CholeskyGrad", {node.output(), grads[0]})};
}

// The matrices in the last two axes, transposed.
Value transposes(Value x) {
  const Value one = matrix_diag(ones_like(matrix_diag_part(x)));
  return batch_matmul(x, one, true);
}

// With l and g lower triangular and P the lower half of l^T g, its diagonal
// halved: the symmetric part of l^-T P l^-1.
std::vector<Gradient> cholesky_grad_gradient(Node& node,
                                             std::span<const Value> grads) {
  return gradient_by_parts(node, grads, [](const std::vector<Value>& in) {
    const BandOptions lower{.num_lower = -1, .num_upper = 0};
    const TriangularSolveOptions by_transpose{.lower = true, .adjoint = true};
    const Value l = matrix_band_part(in[0], lower);
    Value p = batch_matmul(l, matrix_band_part(in[1], lower), true);
    p = matrix_band_part(p, lower);
    p = matrix_set_diag(p, matrix_diag_part(p) * 0.5);
    const Value left = matrix_triangular_solve(l, p, by_transpose);
    const Value s = matrix_triangular_solve(l, transposes(left), by_transpose);
    return std::vector{(s + transposes(s)) * 0.5};
  });
}

std::vector<Gradient> diag_gradient(Node&, std::span<const Value> grads) {
  return {matrix_diag_part(grads[0])};
}

std::vector<Gradient> diag_part_gradient(Node& node,
                                         std::span<const Value> grads) {
  return {matrix_set_diag(make("ZerosLike", {node.input(0)}), grads[0])};
}

std::vector<Gradient> set_diag_gradient(Node& node,
                                        std::span<const Value> grads) {
  return {
      matrix_set_diag(grads[0], make("ZerosLike", {node.input(1)})),
      matrix_diag_part(grads[0]),
  };
}

std::vector<Gradient> band_gradient(Node& node, std::span<const Value> grads) {
  const Attrs& attrs = node.attrs();
  return {matrix_band_part(grads[0],
                           {.num_lower = attrs.get<int64_t>("num_lower"),
                            .num_upper = attrs.get<int64_t>("num_upper")})};
}

void register_products(OpRegistry& ops) {
  ops.add({.name = "MatMul",
           .doc = "The product of two matrices.",
           .inputs = {{"a", TypeSet::kNumber}, {"b", TypeSet::kNumber}},
           .outputs = {"product"},
           .attrs = {{"transpose_a", false, false, "use a's transpose"},
                     {"transpose_b", false, false, "use b's transpose"}},
           .infer = infer::matmul,
           .gradient = matmul_gradient,
           .cost = matmul_cost});
  ops.add({.name = "BatchMatMul",
           .doc = "The products of the matrices in the last two axes of x and "
                  "y. The axes before them broadcast.",
           .inputs = {{"x", TypeSet::kNumber}, {"y", TypeSet::kNumber}},
           .outputs = {"product"},
           .attrs = {{"adj_x", false, false, "use the transposes of x"},
                     {"adj_y", false, false, "use the transposes of y"}},
           .infer = infer::batch_matmul,
           .gradient = batch_matmul_gradient,
           .cost = batch_matmul_cost});
}

void register_solvers(OpRegistry& ops) {
  ops.add({.name = "MatrixInverse",
           .doc = "The inverses of the square matrices in the last two axes. "
                  "A singular matrix is an error. f32 and f64.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"y"},
           .attrs = {{"adjoint", false, false,
                      "give the transposes of the "
                      "inverses"}},
           .infer = infer::square_like_input,
           .gradient = inverse_gradient,
           .cost = solve_cost});
  ops.add({.name = "MatrixDeterminant",
           .doc = "The determinants of the square matrices in the last two "
                  "axes. f32 and f64.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"determinant"},
           .infer = infer::determinant,
           .gradient = determinant_gradient,
           .cost = solve_cost});
  ops.add({.name = "MatrixDeterminantGrad",
           .doc = "The gradient of MatrixDeterminant by x: the transposed "
                  "inverse times determinant and gradient. A singular matrix "
                  "is an error.",
           .inputs = {{"x", TypeSet::kFloat},
                      {"determinant", TypeSet::kFloat},
                      {"grad", TypeSet::kFloat}},
           .outputs = {"x_grad"},
           .infer = infer::square_like_input,
           .gradient = determinant_grad_gradient,
           .cost = solve_cost});
  ops.add({.name = "MatrixSolve",
           .doc = "The solutions of matrix x = rhs for the square matrices and "
                  "the right-hand sides in the last two axes. The axes before "
                  "them must be the same. A singular matrix is an error. f32 "
                  "and f64.",
           .inputs = {{"matrix", TypeSet::kFloat}, {"rhs", TypeSet::kFloat}},
           .outputs = {"x"},
           .attrs = {{"adjoint", false, false,
                      "solve with the transposes of "
                      "the matrices"}},
           .infer = infer::solve,
           .gradient = solve_gradient,
           .cost = solve_cost});
  ops.add({.name = "MatrixTriangularSolve",
           .doc = "MatrixSolve for triangular matrices, of which only one half "
                  "is read. A zero on the diagonal is an error. f32 and f64.",
           .inputs = {{"matrix", TypeSet::kFloat}, {"rhs", TypeSet::kFloat}},
           .outputs = {"x"},
           .attrs = {{"lower", true, false, "whether the lower half is read"},
                     {"adjoint", false, false,
                      "solve with the transposes of "
                      "the matrices"}},
           .infer = infer::solve,
           .gradient = triangular_gradient,
           .cost = solve_cost});
  ops.add({.name = "Cholesky",
           .doc = "The lower triangular matrices that, times their transposes, "
                  "give the symmetric matrices in the last two axes, of which "
                  "only the lower half is read. One that is not positive "
                  "definite is an error. f32 and f64.",
           .inputs = {{"x", TypeSet::kFloat}},
           .outputs = {"l"},
           .infer = infer::square_like_input,
           .gradient = cholesky_gradient,
           .cost = solve_cost});
  ops.add({.name = "CholeskyGrad",
           .doc = "The gradient of Cholesky by its input, a symmetric matrix, "
                  "from its result l.",
           .inputs = {{"l", TypeSet::kFloat}, {"grad", TypeSet::kFloat}},
           .outputs = {"x_grad"},
           .infer = infer::square_like_input,
           .gradient = cholesky_grad_gradient,
           .cost = solve_cost});
}

void register_diagonals(OpRegistry& ops) {
  ops.add({.name = "MatrixDiag",
           .doc = "Square matrices with the last axis on their diagonals and "
                  "zeros elsewhere.",
           .inputs = {{"diagonal"}},
           .outputs = {"y"},
           .infer = infer::diag,
           .gradient = diag_gradient,
           .cost = cost::copied});
  ops.add({.name = "MatrixDiagPart",
           .doc = "The diagonals of the matrices in the last two axes.",
           .inputs = {{"x"}},
           .outputs = {"diagonal"},
           .infer = infer::diag_part,
           .gradient = diag_part_gradient,
           .cost = cost::copied});
  ops.add({.name = "MatrixSetDiag",
           .doc = "x with other diagonals in its matrices.",
           .inputs = {{"x"}, {"diagonal"}},
           .outputs = {"y"},
           .infer = infer::set_diag,
           .gradient = set_diag_gradient,
           .cost = cost::copied});
  ops.add({.name = "MatrixBandPart",
           .doc = "The matrices in the last two axes with only a band around "
                  "their diagonals kept.",
           .inputs = {{"x", TypeSet::kNumber}},
           .outputs = {"y"},
           .attrs = {{"num_lower", int64_t{-1}, false,
                      "diagonals kept below the main one; -1: all"},
                     {"num_upper", int64_t{-1}, false,
                      "diagonals kept above the main one; -1: all"},
                     {"fill", 0.0, false, "what the rest becomes"}},
           .infer = infer::band_part,
           .gradient = band_gradient,
           .cost = cost::copied});
}

}  // namespace

void register_matrix_ops(OpRegistry& ops) {
  register_products(ops);
  register_solvers(ops);
  register_diagonals(ops);
}

Value matmul(Value a, Value b, MatMulOptions options) {
  const auto batch = [](Value x) {
    return x.shape().has_rank() && x.shape().rank() > 2;
  };
  if (a && b && (batch(a) || batch(b)))
    return batch_matmul(a, b, options.transpose_a, options.transpose_b);
  return make("MatMul", {a, b},
              {{"transpose_a", options.transpose_a},
               {"transpose_b", options.transpose_b}});
}
Value batch_matmul(Value x, Value y, bool adj_x, bool adj_y) {
  return make("BatchMatMul", {x, y}, {{"adj_x", adj_x}, {"adj_y", adj_y}});
}
Value matrix_inverse(Value x, bool adjoint) {
  return make("MatrixInverse", {x}, {{"adjoint", adjoint}});
}
Value matrix_determinant(Value x) { return make("MatrixDeterminant", {x}); }
Value matrix_solve(Value matrix, Value rhs, bool adjoint) {
  return make("MatrixSolve", {matrix, rhs}, {{"adjoint", adjoint}});
}
Value matrix_triangular_solve(Value matrix, Value rhs,
                              TriangularSolveOptions options) {
  return make("MatrixTriangularSolve", {matrix, rhs},
              {{"lower", options.lower}, {"adjoint", options.adjoint}});
}
Value cholesky(Value x) { return make("Cholesky", {x}); }
Value matrix_diag(Value diagonal) { return make("MatrixDiag", {diagonal}); }
Value matrix_diag_part(Value x) { return make("MatrixDiagPart", {x}); }
Value matrix_set_diag(Value x, Value diagonal) {
  return make("MatrixSetDiag", {x, diagonal});
}
Value matrix_band_part(Value x, BandOptions options) {
  return make("MatrixBandPart", {x},
              {{"num_lower", options.num_lower},
               {"num_upper", options.num_upper},
               {"fill", options.fill}});
}

}  // namespace rondo
