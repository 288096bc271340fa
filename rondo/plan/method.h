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
  kServers,       // parameter servers
  kHybrid,        // the ring, and spare machines reduce a share
};

struct Method {
  MethodKind kind = MethodKind::kRing;
  int spare = 0;         // machines besides the workers', or servers there
  bool beside = false;   // servers are on the workers' hosts, in turn
  bool factors = false;  // fully connected layers send factors where that pays
  bool bf16 = false;     // numbers travel in two bytes

  // "ring", "ring, factors", "ps 4", "ps 4 beside workers", "hybrid 2".
  std::string name() const;
  // That it needs besides the workers'.
  int spare_machines() const { return beside ? 0 : spare; }
  // Whether each gradient goes to servers by itself, when it is ready. Else
  // they go in buckets, one after another; but for what of them a hybrid's
  // servers get.
  bool by_keys() const { return kind == MethodKind::kServers; }
  bool operator==(const Method&) const = default;
};

// How it is called on the command line and in the table; servers without their
// number.
std::string_view name_of(MethodKind kind);
// The one of which this is the name; an error where there is none.
Result<Method> method_named(std::string_view name);

// Those that there are on this network, each in full precision and with whole
// gradients; between hosts servers and the hybrid with 1, 2, 4, ... and as many
// spare machines as there are workers, and as many servers beside workers.
std::vector<Method> methods_for(const Network& network);

// Which share of so many bytes spare machines add up, together: all, where they
// are parameter servers; with the hybrid so much that all links are equally
// busy, or nothing where that does not pay, as the strategy has it
// (rondo/train/server_share.h).
double spare_share(const Method& method, const Network& network, double bytes);
// Bytes that they add up and give back at once.
double spare_part(const Method& method, const Network& network);

}  // namespace rondo
