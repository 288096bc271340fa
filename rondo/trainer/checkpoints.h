// Checkpoints: where a training stands, in a folder.
#pragma once

#include <optional>
#include <string>

#include "rondo/train/saver.h"

namespace rondo {

// Where a training stands, besides the variables of its model and optimizer.
// The order of the examples follows from it.
struct Position {
  int64_t step = 0;
  int64_t batch = 0;
  int64_t seed = 0;
};

// Adds variables for the position to the graph, and nodes that write and read
// all of its variables; made when the graph is complete. One thread.
class Checkpoints {
 public:
  Checkpoints(Graph& graph, std::string folder);

  // The latest checkpoint of the folder; an error when its list is damaged.
  Result<std::optional<std::string>> latest() const;
  // The variables of the session become those of a checkpoint.
  Status restore(Session& session, const std::string& checkpoint);
  // Where the session's variables stand.
  Result<Position> position(Session& session) const;
  // The name of what was written. The checkpoint before is there until then.
  Result<std::string> save(Session& session, const Position& position);

 private:
  const std::string folder_;
  Value position_;  // a variable: step, batch, seed
  Value fed_;
  Node* set_ = nullptr;
  std::optional<Saver> saver_;
};

}  // namespace rondo
