// Branches and loops, made of Switch, Merge, Enter, Exit and NextIteration.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

using Values = std::vector<Value>;

// The values of if_true() where `condition`, a bool scalar, holds, and those of
// if_false() otherwise: as many, of the same types. Only the nodes of the
// branch that is taken run. The functions may use any value of the graph.
RONDO_API Values cond(Value condition, const std::function<Values()>& if_true,
                      const std::function<Values()>& if_false);

struct WhileOptions {
  // Iterations that may be under way at once.
  int parallel_iterations = 10;
  std::string name = "while";
  // What is known of the variables' shapes in all iterations, where the initial
  // values know more; empty: as they are.
  std::vector<PartialShape> shapes = {};
  // Asked for each value that the body takes from outside: what stands for it
  // within, or empty to have it enter the loop. For gradients of loops.
  std::function<Value(Value)> stand_in = {};
};
// The loop variables, which begin as `initial`, after as many runs of `body` as
// `condition`, a bool scalar, holds before. `body` gives their next values. The
// functions may use any value of the graph.
RONDO_API Values
while_loop(const std::function<Value(const Values&)>& condition,
           const std::function<Values(const Values&)>& body,
           const Values& initial, WhileOptions options = {});

}  // namespace rondo
