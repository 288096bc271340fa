// StepInputs: what a training step has to be given where no program feeds it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rondo/planner/training_step.h"
#include "rondo/runtime/session.h"

namespace rondo {

class StepInputs {
 public:
  // Of all that runs of `targets` take from inputs: placeholders, and what data
  // sets and queues would give. Every element of a tensor is the number that
  // `feeds` say for its name ("NAME=NUMBER"); 0.1, 0 of integers, true of
  // booleans for those that they do not name. Extents that the graph leaves
  // open are `batch`; what has no rank is a scalar, if it is named.
  static Result<StepInputs> of(const std::vector<const Node*>& targets,
                               int64_t batch,
                               const std::vector<std::string>& feeds);

  // As tensors, made by a session.
  Result<std::vector<Feed>> tensors(Session& session) const;
  // "with x [32, 784] = 0.1, y [32] = 0".
  std::string text() const;

 private:
  struct Input {
    Value value;
    PartialShape shape;  // of no rank: not yet known
    double number = 0;

    std::string text() const;
  };

  Status set(const std::string& feed);
  Status check() const;

  std::vector<Input> inputs_;
};

}  // namespace rondo
