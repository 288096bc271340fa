// The binomial tree: who is whose parent. Internal to this folder.
//
// A node's number is its rank relative to the root, 0..n-1. Its parent is the
// number without its lowest set bit; node v has the children v + 1, v + 2,
// v + 4, ... below its own lowest set bit and below n.
#pragma once

#include <bit>
#include <vector>

namespace rondo {

// Levels of the tree, and so steps of a reduction or a broadcast along it.
inline int tree_depth(int n) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1)));
}

// The level of the edge from node v > 0 to its parent: 0 is lowest.
inline int tree_level(int v) {
  return std::countr_zero(static_cast<unsigned>(v));
}

inline int tree_parent(int v) { return v & (v - 1); }

// Child i is at level i. They lead smaller subtrees first: the order in which
// their contributions are complete.
inline std::vector<int> tree_children(int n, int v) {
  std::vector<int> children;
  int levels = v == 0 ? tree_depth(n) : tree_level(v);
  for (int level = 0; level < levels && v + (1 << level) < n; ++level) {
    children.push_back(v + (1 << level));
  }
  return children;
}

}  // namespace rondo
