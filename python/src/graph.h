// Graphs, nodes and values as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "rondo/graph/graph.h"

namespace nb = nanobind;

namespace rondo::python {

// A node or value of Python's keeps its graph.
struct PyNode {
  std::shared_ptr<Graph> graph;
  Node* node = nullptr;
};
struct PyValue {
  std::shared_ptr<Graph> graph;
  Value value;
};
// Scopes that a `with` of the program's has open, innermost last.
struct PyGraph {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<std::shared_ptr<void>> scopes;
};

}  // namespace rondo::python
