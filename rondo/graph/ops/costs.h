// What runs of operations cost: the functions that most definitions share.
//
// Operations are counted on the elements of one tensor, of which each takes a
// fixed number; that need not be exact, as what placement and planning want to
// know is which of two nodes takes longer. Extents that are not known count as
// 1.
#pragma once

#include <algorithm>

#include "rondo/graph/op.h"

namespace rondo::cost {

// Of exp, log, sin and the like, which are polynomials.
inline constexpr int kFunction = 10;
// Of a random number from a counter.
inline constexpr int kRandom = 15;

double elements(const PartialShape& shape);
double bytes_of_input(const Node& node, int i);
// Of all inputs and outputs.
double all_bytes(const Node& node);

// Nothing: those that hand a tensor on, look at its shape, or give it another.
OpCost none(const Node& node);
// As many bytes as there are in all tensors: those that compute nothing.
OpCost copied(const Node& node);
// Of those that read as much as they write, whatever they might read.
OpCost moved(const Node& node);

// So many operations for each element of the first output.
template <int kEach>
OpCost per_output(const Node& node) {
  return {kEach * elements(node.outputs()[0].shape), all_bytes(node)};
}
// So many for each element of an input.
template <int kInput, int kEach>
OpCost per_input(const Node& node) {
  return {kEach * elements(node.input(kInput).shape()), all_bytes(node)};
}
// The same of an input that changes as many elements of a large tensor, which
// is not gone through: it is read, and what it changes is read and written.
template <int kInput, int kEach>
OpCost changed(const Node& node) {
  return {kEach * elements(node.input(kInput).shape()),
          3 * bytes_of_input(node, kInput)};
}

}  // namespace rondo::cost
