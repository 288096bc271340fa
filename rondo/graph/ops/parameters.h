// Parameters: operations on variables that parameter servers keep.
//
// A rank's variable is a copy of what the servers have. In each step it sends
// its gradient and gets the new value; what the optimizer keeps stays there.
// The servers are found by the name of the ranks' group when the step is
// compiled: a strategy (rondo/train/strategy.h) makes it, and these nodes too.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/graph/ops/exchange.h"

namespace rondo {

struct ParameterOptions {
  std::string group;
  std::string key;                // by which servers know it
  std::vector<double> optimizer;  // as rondo/ps has it
  // The variables in which this rank has what servers keep besides the value,
  // for checkpoints: in the order of the optimizer's slots; and the powers of
  // Adam's betas.
  std::vector<std::string> slots = {};
  std::vector<std::string> powers = {};
  DType dtype = DType::kF32;
  PartialShape shape = {};
};

// Sends a gradient; the new value.
RONDO_API Value push_pull(Value gradient, Value learning_rate,
                          const ParameterOptions& options);
// Sends rows of a gradient; the rows that anybody has changed since the last
// time, and which they are.
RONDO_API Rows push_pull_rows(const Rows& gradient, Value learning_rate,
                              const ParameterOptions& options);
// What servers keep besides the value, of a node of one of the former.
RONDO_API std::vector<Value> pull_slots(const Node& push);
// Rank 0's tensors become what servers have: for each of those nodes the value,
// the slots and the powers.
RONDO_API Node& set_parameters(const std::vector<const Node*>& pushes,
                               const std::vector<Value>& tensors,
                               const ExchangeOptions& options);

}  // namespace rondo
