// Small things that the builders of plans share. Internal to this folder.
//
// Two rules of theirs are kept by all builders. What messages travel, in what
// order and size, depends on the arguments that all ranks have in common, never
// on `in_place`, which may differ from rank to rank. And empty messages are
// sent like any other: their headers show the peer that this rank takes part,
// and with which arguments.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rondo/collectives/plan.h"

namespace rondo {

inline Range input_range(Part part) {
  return {Buffer::kInput, part.offset, part.count};
}
inline Range output_range(Part part) {
  return {Buffer::kOutput, part.offset, part.count};
}
inline Range scratch_range(Part part) {
  return {Buffer::kScratch, part.offset, part.count};
}

// i modulo n, also for negative i.
inline int wrap(int i, int n) { return ((i % n) + n) % n; }

// [0, count) cut into segments of `size` elements, the last may be shorter; one
// empty segment when count is 0.
std::vector<Part> segments_of(int64_t count, int64_t size);

// Where ranges of counts[0], counts[1], ... elements lie one behind the other.
std::vector<Part> parts_of(std::span<const int64_t> counts);

// Receives `part` of a peer's and adds this rank's own input to it, in kOutput:
// in place the input is there already; else the message is stored and the input
// added to it block by block, which spares a copy of the input beforehand.
// Returns the action after which the sum is there.
int recv_and_add(Plan& plan, int peer, Part part, bool in_place, int step);

// What a group of one does: the output is the input, finished.
Plan lone_allreduce(int64_t count, bool in_place);

}  // namespace rondo
