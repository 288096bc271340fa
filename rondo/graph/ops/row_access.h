// Rows of a tensor, one by one: what a loop reads its inputs from and writes
// its outputs to.
//
// Each operation gives the tensor on, so that as a loop's variable it passes
// from iteration to iteration and is changed in place, forwards and backwards:
// the time of a loop over rows is that of its rows, with gradients too.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

struct TakenRow {
  Value row;
  Value x;  // the same tensor, for the next iteration
};
// x[index]; `index` is a scalar of i32 or i64.
RONDO_API TakenRow take_row(Value x, Value index);
// x with `row` in the place of x[index].
RONDO_API Value set_row(Value x, Value index, Value row);
// x with `row` added to x[index].
RONDO_API Value add_row(Value x, Value index, Value row);
// x with zeros in the place of x[index].
RONDO_API Value clear_row(Value x, Value index);

}  // namespace rondo
