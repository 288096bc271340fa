// GraphIterator: elements of a data set as values of a graph.
//
//   GraphIterator it = make_initializable_iterator(graph, dataset);
//   const std::vector<Value> next = it.get_next();
//   session.run(*it.initializer()).value();
//   while (true) { Result<Tensor> loss = session.run(loss_of(next)); ... }
//
// At the end a run fails with kOutOfRange.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/graph.h"
#include "rondo/train/dataset.h"

namespace rondo {

// A handle. Each session has a place of its own in the data.
class RONDO_API GraphIterator {
 public:
  // Its data comes from initializers.
  GraphIterator(Graph& graph, DataTypes types, const std::string& name = {});

  const std::string& name() const { return name_; }
  const DataTypes& types() const { return types_; }
  // The next element's components. Each call adds an operation, and each takes
  // an element of its own in a run.
  std::vector<Value> get_next(const std::string& name = {}) const;
  // An operation that begins at the start of this data set, whose elements must
  // be of the iterator's types.
  Node& make_initializer(const Dataset& dataset,
                         const std::string& name = {}) const;
  // Of make_initializable_iterator; nullptr for others.
  Node* initializer() const { return initializer_; }

 private:
  friend GraphIterator make_initializable_iterator(Graph& graph,
                                                   const Dataset& dataset,
                                                   const std::string& name);
  friend GraphIterator make_one_shot_iterator(Graph& graph,
                                              const Dataset& dataset,
                                              const std::string& name);

  Graph* graph_;
  std::string name_;
  DataTypes types_;
  std::string dataset_;  // of one that begins by itself
  Node* initializer_ = nullptr;
};

RONDO_API GraphIterator make_initializable_iterator(
    Graph& graph, const Dataset& dataset, const std::string& name = {});
// Begins by itself, once in a session.
RONDO_API GraphIterator make_one_shot_iterator(Graph& graph,
                                               const Dataset& dataset,
                                               const std::string& name = {});

// Attaches the data set to the graph; the name that it has there.
RONDO_API std::string attach_dataset(Graph& graph, const Dataset& dataset);

}  // namespace rondo
