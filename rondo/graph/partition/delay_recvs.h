// Recv nodes that begin no earlier than they have to.
//
// A Recv waits for nothing in its part, so it would begin with the step, and
// what it gets would take memory until somebody wants it. Each node of the step
// has a time at which it ends if all begins as soon as possible (ASAP), and one
// at which it has to end so that the step is not longer (ALAP). A Recv is put
// behind a node that, even if it ended as late as its ALAP time, would leave
// the transfer enough time before the first user's; of these, the one that is
// expected to end last.
#pragma once

#include <functional>
#include <vector>

#include "rondo/graph/ops/transfer.h"
#include "rondo/graph/partition/partition.h"

namespace rondo {

struct DelayOptions {
  // Seconds that a node runs; none: by its operation's cost.
  std::function<double(const Node&)> run_time;
  // Seconds that so many bytes take from one device to another. Where it is 0,
  // as within a process, the Recv stays as it is.
  std::function<double(const TensorTransfer&, double bytes)> transfer_time;
};

// Adds control edges to Recv nodes, each from a node for which all users of the
// Recv wait anyway and which is never dead. So what the users wait for stays
// the same, and a step that ended still does.
RONDO_API void delay_recvs(std::vector<GraphPart>& parts,
                           const DelayOptions& options);

}  // namespace rondo
