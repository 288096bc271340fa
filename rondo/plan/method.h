// Method: one way to bring gradients to all workers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rondo/plan/network.h"

namespace rondo {

enum class MethodKind {
  kNaive,         // everyone to everyone
  kStar,          // through one worker
  kTree,          // up and down a binomial tree
  kButterfly,     // recursive halving and doubling
  kRing,          // scatter-reduce and allgather around a ring
  kDirect,        // in the memory of one host
  kHierarchical,  // direct within hosts, rings between them
  kServers,       // parameter servers on spare machines
  kHybrid,        // each worker serves a share, and spare machines the rest
};

struct Method {
  MethodKind kind = MethodKind::kRing;
  int spare = 0;         // machines besides the workers'
  bool factors = false;  // fully connected layers send factors where that pays
  bool bf16 = false;     // numbers travel in two bytes

  // "ring", "ring, factors", "ps 4", "hybrid 2".
  std::string name() const;
  // Whether messages go by a plan of rondo/collectives.
  bool is_collective() const { return spare == 0; }
  bool operator==(const Method&) const = default;
};

// How it is called on the command line and in the table; servers without their
// number.
std::string_view name_of(MethodKind kind);

// Those that there are on this network, each in full precision and with whole
// gradients; between hosts servers and the hybrid with 1, 2, 4, ... and as many
// spare machines as there are workers.
std::vector<Method> methods_for(const Network& network);

// Which share of the gradients each worker and each spare machine adds up.
// Together they are 1. The hybrid's are such that all links are equally busy.
struct Shares {
  double worker = 0;
  double spare = 0;
};
Shares shares_of(const Method& method, const Network& network);

}  // namespace rondo
