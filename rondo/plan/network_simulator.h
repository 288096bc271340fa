// NetworkSimulator: how long operations take whose plans are run over a
// network, block by block.
//
// The blocks of a message take the sockets between two ranks in turn. A block
// leaves through its host's link when it is there and the link is free; the
// sockets of a link take turns by bytes, as the kernel has them. It goes
// through the uplinks of racks, where it crosses them, and through the
// receiving host's link, each at its rate and one block after another, as they
// come, and has arrived when its last byte has. Where sockets have a window, a
// block also waits for those before it to be acknowledged, and an
// acknowledgement for what is queued on its way, and takes bytes of it; a
// socket then has only so much in its host's queue, where blocks go as they
// come, and begins slowly after a pause. What plan.h says about order holds:
// blocks are passed on as soon as they have been reduced, and a join waits.
// Servers pass on whole parts. Adding up costs nothing, but for what workers
// of one host do in shared memory.
#pragma once

#include <span>
#include <vector>

#include "rondo/collectives/plan.h"
#include "rondo/plan/network.h"

namespace rondo {

// Ranks are the workers of the network, and behind them its spare machines, or
// servers on the workers' hosts.
struct SimulatedOperation {
  std::vector<Plan> plans;    // by rank
  std::vector<double> ready;  // by rank: the second from which it takes part
  double element_bytes = 4;
  // Waits for no other operation but those that hold it, and none waits for
  // it.
  bool apart = false;
  // A rank begins no other before it has finished this one. Only the first do.
  bool holds = false;
  // Servers wait for all that a worker sends them, not for parts of it.
  bool whole = false;
};

struct NetworkSimulation {
  int spare = 0;        // machines
  bool beside = false;  // they are servers on the workers' hosts
  // Whether a rank begins an operation when it has finished the one before, as
  // the operations of a communicator do.
  bool in_order = true;
  double part = 0;  // bytes that servers wait for; 0: the network's
  // Bytes that a worker has sent to a server, and got no answer to, above which
  // more has to wait; 0: any number.
  double unanswered = 0;
  // Into how many pieces a block is cut on its way, so that links are shared
  // evenly.
  int pieces = 1;
};

// By operation and rank: the second at which it was over there. What a plan
// waits for in vain has none, and is a mistake: an error.
Result<std::vector<std::vector<double>>> simulate_network(
    const Network& network, std::span<const SimulatedOperation> operations,
    const NetworkSimulation& options);

}  // namespace rondo
