// Order, extremes, running sums, and tensors made from a few numbers.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

// start, start + delta, … up to before limit.
RONDO_API Value range(Value start, Value limit, Value delta);
RONDO_API Value range(Graph& graph, double start, double limit,
                      double delta = 1, DType dtype = DType::kI32);

struct TopKValues {
  Value values;
  Value indices;  // i64
};
// The k largest along the last axis; `sorted`: the largest first.
RONDO_API TopKValues top_k(Value x, int64_t k, bool sorted = true);
// Where along the axis the largest or smallest element is, the first of equal
// ones; i64.
RONDO_API Value argmax(Value x, int64_t axis = 0);
RONDO_API Value argmin(Value x, int64_t axis = 0);

struct CumSumOptions {
  int64_t axis = 0;
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the end
};
RONDO_API Value cumsum(Value x, const CumSumOptions& options = {});

struct UniqueValues {
  Value values;   // in the order in which they first occur
  Value indices;  // i64: values[indices[i]] is x[i]
  Value counts;   // i64: how often each occurs
};
// Of a vector.
RONDO_API UniqueValues unique(Value x);
// The indices of the elements that are true (not zero): i64 [n, rank].
RONDO_API Value where(Value condition);
// y[x[i]] = i.
RONDO_API Value invert_permutation(Value x);
// For every length a row that is true before it; maxlen -1: the largest length.
RONDO_API Value sequence_mask(Value lengths, int64_t maxlen = -1,
                              DType dtype = DType::kBool);

}  // namespace rondo
