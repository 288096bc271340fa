// Measuring the links between hosts by sending over them.
//
// A communicator has one rank on each host. In every round each host is paired
// with another one, and all pairs are busy at once; after the last round each
// has been with every other. First short messages go back and forth, then long
// ones both ways at the same time for a while.
#pragma once

#include "rondo/collectives/communicator.h"
#include "rondo/planner/link_survey.h"

namespace rondo {

struct LinkProbeOptions {
  double seconds = 0.5;  // that long messages of a pair take together
  int pings = 200;       // short ones of a pair, there and back
  int most_rounds = 32;  // beyond, not every pair is measured
};

// On all ranks of `comm`, which reach each other by TCP. All get the result.
Result<LinkSurvey> probe_links(Communicator& comm,
                               const LinkProbeOptions& options = {});

// As many rounds as it takes until everybody has been with everybody.
int rounds_of_pairs(int hosts);
// Who is with `host` in this round; -1: nobody, since their number is odd.
int peer_in_round(int host, int round, int hosts);

}  // namespace rondo
