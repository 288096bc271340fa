// PlanSimulator: runs the plans of all ranks of an operation in one thread, in
// memory, as badly as plan.h allows. For tests.
//
// At each moment one of the operations on a block that may run is picked by a
// seeded generator. Every operation has a beginning and an end with others in
// between: what it adds to is read at the beginning, what it makes is written
// at the end. An executor that keeps plan.h's rules can do nothing worse, so a
// plan that gives the right result here under many seeds does not depend on
// luck.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/collectives/plan.h"

namespace rondo {

struct SimulatorOptions {
  uint64_t seed = 0;
  int64_t block = 2;     // elements of a block
  int64_t capacity = 0;  // blocks in flight per ordered pair of ranks; 0: any
  // A block that is sent is read when the receiver stores it, as if the peer's
  // memory were mapped, and not when the sender hands it over.
  bool late = false;
  // Streams of a channel. Each keeps the order of the messages for the blocks
  // that travel on it, but one stream may be messages ahead of another.
  int streams = 1;
};

// One rank's plan and memory. In place, `input` is empty and means `output`.
struct SimulatedRank {
  Plan plan;
  std::vector<int64_t> input;
  std::vector<int64_t> output;
  bool in_place = false;
  int host = 0;  // ranks of the same host share their memory
};

// What kFinish does to a sum: something that shows when it is done twice or
// never, or before the sum is complete.
inline int64_t finished(int64_t sum) { return sum * 1000 + 7; }

// What is wrong with the plan of one rank as such, or empty: an `after` that is
// not earlier or has another count, a peer out of range, a range outside its
// buffer. `input` and `output` are the buffers' sizes.
std::string fault_of(const Plan& plan, int n, int rank, int64_t input,
                     int64_t output);

// Runs all plans to the end. Returns what went wrong, or empty: a fault of a
// plan, messages that do not match, or a deadlock.
std::string simulate(std::vector<SimulatedRank>& ranks,
                     const SimulatorOptions& options);

}  // namespace rondo
