// Exchanges: operations in which the ranks of a group take part together.
//
// Every rank runs the same graph. Within a step, exchanges of a group are
// issued by their sequence number, whichever of them is ready first, so that
// all ranks issue them in the same order. The group is found by name when the
// step is compiled: a strategy (rondo/train/strategy.h) makes it, and these
// nodes too.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct ExchangeOptions {
  std::string group;
  int64_t sequence = 0;  // unique among the exchanges of a step
  std::string name = {};
  // Whether a step may leave it out, by a branch that all ranks take alike.
  bool optional = false;
  // Of a reduction that may travel together with its neighbours, a unit: its
  // size, which all ranks have to know alike. 0: it travels alone.
  int64_t unit_bytes = 0;
  // Only units of one family travel together: those that were made at once, of
  // which none needs the result of another.
  int64_t unit_family = 0;
};

// Tensors of one type, each reduced over all ranks: their mean, or their sum.
// `wire` is the type in which they travel: theirs, or bf16 for f32.
RONDO_API std::vector<Value> all_reduce(const std::vector<Value>& values,
                                        const ExchangeOptions& options,
                                        bool average, DType wire);
// The rows of all ranks, which have equally many, one rank's behind the
// other's; `wire` as above.
RONDO_API Value all_gather(Value rows, const ExchangeOptions& options,
                           DType wire);
// The rows and indices of all ranks, one rank's behind the other's.
struct Rows {
  Value values;
  Value indices;
};
RONDO_API Rows all_gather_rows(const Rows& rows,
                               const ExchangeOptions& options);
// What the tensors are on rank `root`.
RONDO_API std::vector<Value> broadcast(const std::vector<Value>& values,
                                       const ExchangeOptions& options,
                                       int64_t root = 0);

}  // namespace rondo
