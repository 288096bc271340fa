// Iterators over data sets, as a graph has them. rondo/train/graph_iterator.h
// makes them.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

struct IteratorOptions {
  // Under which a session keeps where it is.
  std::string iterator = {};
  // The attachment of the graph that has the data; of a get_next without it, an
  // initializer has.
  std::string dataset = {};
  std::string name = {};
};

// The components of the next element, of these types. At the end, the run fails
// with kOutOfRange.
RONDO_API std::vector<Value> iterator_get_next(
    Graph& graph, const std::vector<TensorType>& types,
    IteratorOptions options);
// Begins at the start of the data.
RONDO_API Node& make_iterator(Graph& graph, IteratorOptions options);

}  // namespace rondo
