// Products, inverses and decompositions of matrices. Tensors of a rank above 2
// are batches of matrices: their last two axes are rows and columns.
#pragma once

#include <string_view>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};
// a times b; of batches where one of them is known to be a batch.
RONDO_API Value matmul(Value a, Value b, MatMulOptions options = {});
// Batches of matrices, whose leading extents broadcast.
RONDO_API Value batch_matmul(Value x, Value y, bool adj_x = false,
                             bool adj_y = false);
RONDO_API Value matrix_inverse(Value x, bool adjoint = false);
RONDO_API Value matrix_determinant(Value x);
// The x of matrix x = rhs; `adjoint`: of its transpose.
RONDO_API Value matrix_solve(Value matrix, Value rhs, bool adjoint = false);
struct TriangularSolveOptions {
  bool lower = true;
  bool adjoint = false;
};
// The same for a triangular matrix, whose other half is not read.
RONDO_API Value matrix_triangular_solve(Value matrix, Value rhs,
                                        TriangularSolveOptions options = {});
// The lower triangular l with l times its transpose equal to x.
RONDO_API Value cholesky(Value x);
RONDO_API Value matrix_diag(Value diagonal);
RONDO_API Value matrix_diag_part(Value x);
RONDO_API Value matrix_set_diag(Value x, Value diagonal);
struct BandOptions {
  int64_t num_lower = -1;  // diagonals below the main one that stay; -1: all
  int64_t num_upper = -1;  // above it
  double fill = 0;         // what everything else becomes
};
RONDO_API Value matrix_band_part(Value x, BandOptions options);

// Einstein summation: "ij,jk->ik" multiplies matrices. Labels are letters;
// "..." stands for leading axes that broadcast; without "->" the result has
// the labels that occur once, in alphabetical order. Every operand's rank must
// be known. Lowered to transposes, reshapes and batch_matmul.
RONDO_API Value einsum(std::string_view equation,
                       const std::vector<Value>& operands);

}  // namespace rondo
