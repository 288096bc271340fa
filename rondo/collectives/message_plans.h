// The collectives on messages: one builder per operation and algorithm. All are
// pure functions; each gives the plan of one rank.
//
// Conventions. n ranks, 0 <= rank < n, 0 <= root < n, counts in elements, each
// may be 0, n may be 1. `in_place` says that the caller's input and output are
// the same memory (then kInput and kOutput name the same elements where the
// operation defines both: see each).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rondo/collectives/plan.h"

namespace rondo {

// What every allreduce algorithm is given. Input and output: count elements.
struct AllreduceArgs {
  int n = 1;
  int rank = 0;
  int64_t count = 0;
  bool in_place = true;
  // For hierarchical plans: host_of[r] is a small number naming r's host, equal
  // for ranks that share one. Empty: all on one host.
  std::span<const int> host_of = {};
  // About how many elements of kScratch a plan may use (32 MiB of the widest
  // type); what needs more is done in segments. The same on all ranks.
  int64_t scratch = int64_t{4} << 20;
  // Elements in a cache line: slices in shared memory begin on one.
  int64_t unit = 16;
  // Whether the ranks of this rank's host reach each other's buffers; if not,
  // the hierarchical plan moves them by messages. May differ between hosts.
  bool shared_buffers = true;
};

// allreduce, one file each (naive.cc, star.cc, tree.cc, butterfly.cc, ring.cc,
// hierarchical.cc).
Plan naive_allreduce(const AllreduceArgs& args);
Plan star_allreduce(const AllreduceArgs& args);
inline constexpr int64_t kStarBlockBytes = 64 << 10;
Plan tree_allreduce(const AllreduceArgs& args);
Plan butterfly_allreduce(const AllreduceArgs& args);
// The butterfly for tiny vectors (butterfly.cc): half the steps, but the whole
// vector in each.
Plan recursive_doubling_allreduce(const AllreduceArgs& args);
Plan ring_allreduce(const AllreduceArgs& args);
Plan hierarchical_allreduce(const AllreduceArgs& args);
// The part between hosts of the hierarchical algorithm: `members` are the ranks
// (one per host) that own the same slice, in order; args.rank is one of them.
// The plan reduces elements [slice.offset, +count) of the output over them by
// the ring, in place, and finishes them.
Plan slice_ring_allreduce(std::span<const int> members, int rank, Part slice);
// Who owns which slice: the vector is cut into as many slices as the host with
// the fewest ranks has; on each host the rank that is i-th among its host's
// owns slice i. `members` are the owners of the same slice as `rank`, one per
// host, in order of rank; index is -1 and members is empty if `rank` owns none.
struct SliceOwners {
  int slices = 1;
  int index = -1;
  std::vector<int> members;
};
SliceOwners slice_owners(std::span<const int> host_of, int rank);

// broadcast: kOutput[count] of root to everybody's kOutput; binomial tree,
// blocks are forwarded as they arrive.
Plan tree_broadcast(int n, int rank, int root, int64_t count);
// broadcast for large counts: scatter by the root, then a ring allgather.
Plan scatter_ring_broadcast(int n, int rank, int root, int64_t count);
// reduce: kInput of everybody into kOutput of root (kOutput is untouched
// elsewhere); binomial tree. Elements travel in segments of at most `segment`,
// so that the sums of ranks between root and leaves fit into little scratch.
Plan tree_reduce(int n, int rank, int root, int64_t count, bool in_place,
                 int64_t segment = int64_t{2} << 20);
// allgatherv: counts[r] elements of r's kInput land at offset sum(counts[0..r))
// of everybody's kOutput; ring. In place: the input already lies there, and the
// plan does not touch kInput.
Plan ring_allgather(int n, int rank, std::span<const int64_t> counts,
                    bool in_place);
// reduce_scatter: kInput has sum(counts) elements; part r, reduced over all
// ranks, lands in r's kOutput (counts[r] elements). kInput is left as it was
// (kScratch holds partial sums, at most about `scratch` elements of them).
Plan ring_reduce_scatter(int n, int rank, std::span<const int64_t> counts,
                         int64_t scratch = int64_t{4} << 20);
// gatherv and scatterv by the root directly. On the root, gather's kOutput and
// scatter's kInput hold sum(counts) elements in rank order.
Plan linear_gather(int n, int rank, int root, std::span<const int64_t> counts);
Plan linear_scatter(int n, int rank, int root, std::span<const int64_t> counts);
// A rooted operation's plan with an empty message between two ranks wherever
// it has messages one way only, so that each rank hears from every rank that it
// exchanges anything with, and sees with which arguments it was called. Nothing
// waits for these messages, and they wait for nothing.
Plan with_answers(Plan plan);
// all_to_allv: send_counts[d] elements for d lie in rank order in kInput,
// recv_counts[s] from s land in rank order in kOutput; pairwise exchange: in
// step k with rank+k and rank-k.
Plan pairwise_all_to_all(int n, int rank, std::span<const int64_t> send_counts,
                         std::span<const int64_t> recv_counts);
// barrier: dissemination, ceil(log2 n) steps of empty messages (count 0
// messages still travel as a header).
Plan dissemination_barrier(int n, int rank);

}  // namespace rondo
