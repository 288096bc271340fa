// FrameRun: a frame of a plan while a step runs it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "rondo/runtime/step_plan.h"

namespace rondo {

struct FrameRun;

// One iteration of a frame: for each of the frame's items what it has and what
// it still waits for.
struct Iteration {
  int number = 0;
  std::vector<Tensor> slots;
  std::vector<int> waits;  // tokens that have not come, by local number
  std::vector<int> dead;   // dead tokens that have, by local number
  // Of merges: 1 + the input that lives, or 0; of switches that have decided:
  // 1 + the output.
  std::vector<int> has_live;
  int in_progress = 0;  // items that are ready or running
  std::vector<std::unique_ptr<FrameRun>> children;
};

struct FrameRun {
  int frame = 0;  // in the plan
  FrameRun* parent = nullptr;
  Iteration* parent_iteration = nullptr;
  // Oldest first; the front goes when nothing can happen in it any more.
  std::vector<std::unique_ptr<Iteration>> live;
  int next_number = 0;
  int enters_left = 0;
  struct Token {
    int item;  // the Enter or NextIteration that sends it
    Tensor tensor;
    bool dead;
  };
  std::vector<Token> constants;  // for every iteration
  std::vector<Token> deferred;   // for an iteration that has to wait
  std::vector<Token> resumed;    // no longer deferred; only while they are sent
  std::vector<char> left;        // by exit: whether a live token has left
};

}  // namespace rondo
