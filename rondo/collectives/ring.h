// The ring over any ranks of a communicator: what ring and hierarchical share.
// Internal to this folder.
#pragma once

#include "rondo/collectives/plan.h"

namespace rondo {

// A rank's place in a ring of `size` ranks, and its two neighbours' ranks.
struct RingPlace {
  int size = 1;
  int position = 0;
  int next = 0;
  int previous = 0;
};

// Reduces `whole` over the ring; size is at least 2.
Plan ring_over(const RingPlace& place, Part whole, bool in_place);

}  // namespace rondo
