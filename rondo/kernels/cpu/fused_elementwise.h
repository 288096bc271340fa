// FusedElementwise: a program of element-wise operations, run block by block so
// that what is between them stays in the cache.
#pragma once

#include <string_view>

#include "rondo/kernels/cpu/elementwise.h"

namespace rondo {

// What one operation of a program does. Operands are the inputs, from 0 on, and
// behind them the blocks that earlier steps wrote.
struct ElementwiseStep {
  std::optional<UnaryOp> unary;
  BinaryOp binary = BinaryOp::kAdd;
  double alpha = 0;
  int from[2] = {0, 0};
  int block = 0;  // which block it writes; the last step writes the result
};

struct ElementwiseProgram {
  static constexpr int kMostBlocks = 16;
  int inputs = 0;
  int blocks = 0;
  std::vector<ElementwiseStep> steps;

  // From the attribute "program". Steps share blocks where nobody needs the
  // earlier contents any more.
  static Result<ElementwiseProgram> parse(std::string_view text, int inputs);
};

}  // namespace rondo
