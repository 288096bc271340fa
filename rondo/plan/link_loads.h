// What an exchange puts on the busiest links, for each byte of the vector.
// These are the parts of a cost that take a look at every worker or host.
// Internal to this folder.
#pragma once

#include <vector>

#include "rondo/plan/method.h"

namespace rondo {

struct MessageLoad {
  double part = 1;    // of the vector, that a message has
  double link = 0;    // of a host, one way
  double uplink = 0;  // of a rack, one way
  // With servers beside workers: of both, for each byte that a worker sends
  // beyond those that it gets back, or gets beyond those that it sends. At
  // most, where hosts are unequal.
  double more_link = 0;
  double more_uplink = 0;
  // On the longest way of the tree from a worker to the root, and of these
  // messages those within a host.
  int hops = 0;
  int local_hops = 0;
  // Most workers that send to a server beside others over its host's link, and
  // what the workers of a server's host push to others, at least.
  int senders = 0;
  double pushes = 0;
};

// Of all links at once, but for the butterfly: of one step after another. Empty
// for methods whose loads are known without looking.
std::vector<MessageLoad> link_loads(const Method& method,
                                    const Network& network);

std::vector<int> workers_in_racks(const Network& network);

}  // namespace rondo
