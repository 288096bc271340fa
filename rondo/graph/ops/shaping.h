// The same elements under other axes: permuted, repeated, padded, reversed.
#pragma once

#include "rondo/graph/graph.h"

namespace rondo {

// Axis i of the result is axis perm[i] of x; empty: the axes reversed.
RONDO_API Value transpose(Value x, Ints perm = {});
// An axis of extent 1 put in, at `axis` of the result.
RONDO_API Value expand_dims(Value x, int64_t axis);
// Axes of extent 1 taken out; empty: all of them.
RONDO_API Value squeeze(Value x, Ints axes = {});
// x repeated along every axis.
RONDO_API Value tile(Value x, Value multiples);
RONDO_API Value tile(Value x, const Ints& multiples);

struct PadOptions {
  // "CONSTANT", "REFLECT" (without the edge) or "SYMMETRIC" (with it).
  std::string mode = "CONSTANT";
  double value = 0;  // of constant padding
};
// `paddings` has shape [rank, 2]: how much before and after, for every axis.
RONDO_API Value pad(Value x, Value paddings, PadOptions options = {});
RONDO_API Value pad(Value x, const std::vector<std::pair<int64_t, int64_t>>& by,
                    PadOptions options = {});
// The elements along these axes from the last to the first.
RONDO_API Value reverse(Value x, Ints axes);
// x repeated to the shape, as element-wise operations do.
RONDO_API Value broadcast_to(Value x, Value shape);
RONDO_API Value broadcast_to(Value x, const Ints& shape);

}  // namespace rondo
