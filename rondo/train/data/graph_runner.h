// GraphRunner: a GraphFunction with the session that runs it.
#pragma once

#include "rondo/runtime/session.h"
#include "rondo/train/data/stage.h"
#include "rondo/train/dataset.h"

namespace rondo {

// Several threads may call it at once.
class GraphRunner {
 public:
  // `what` is the function of Dataset that it is for. Throws unless the inputs
  // take elements of these types.
  GraphRunner(std::string_view what, GraphFunction function,
              const DataTypes& types, int intra_op_threads);

  Result<DataElement> run(const DataElement& element,
                          Cancellation& cancellation);
  DataTypes types() const;

 private:
  GraphFunction function_;
  Session session_;
};

// Calls `build` with placeholders of these types in a new graph.
GraphFunction build_function(const GraphBuilder& build, const DataTypes& types);

}  // namespace rondo
