// Graphs, nodes and values as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace nb = nanobind;

namespace rondo::python {

// The line of the program that called into the package: of nodes that are made
// here, several for one call.
std::string program_line();

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
