// Hierarchical: within a host the ranks reduce by mapped memory (direct), each
// its own slice; the owners of the same slice, one per host, then reduce that
// slice over the hosts by the ring; then the slices are shared within each
// host. Where the ranks of a host cannot reach each other's buffers, those two
// local phases are messages instead; the part between the hosts is the same.
#include <algorithm>
#include <map>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"
#include "rondo/collectives/ring.h"

namespace rondo {
namespace {

// The ranks of `rank`'s host in order.
std::vector<int> neighbours(std::span<const int> host_of, int n, int rank) {
  std::vector<int> ranks;
  for (int r = 0; r < n; ++r)
    if (host_of.empty() || host_of[r] == host_of[rank]) ranks.push_back(r);
  return ranks;
}

void append(Plan& plan, const Plan& more) {
  const int shift = static_cast<int>(plan.actions.size());
  for (Action action : more.actions) {
    if (action.after >= 0) action.after += shift;
    plan.actions.push_back(action);
  }
}

// Everybody here gives the owner of slice i its input of it; the owner adds
// them up in its output.
void local_reduce_by_messages(Plan& plan, const AllreduceArgs& args,
                              std::span<const int> local, int slices,
                              int mine) {
  for (int i = 0; i < slices; ++i) {
    if (local[i] != args.rank)
      plan.send(local[i], input_range(part_of(args.count, slices, i)), 0);
  }
  if (mine < 0) return;
  const Part slice = part_of(args.count, slices, mine);
  int after = -1;
  if (!args.in_place)
    after = plan.copy(input_range(slice), output_range(slice), 0);
  for (int peer : local)
    if (peer != args.rank)
      after = plan.recv_reduce(peer, output_range(slice), 0, after);
}

void local_share_by_messages(Plan& plan, const AllreduceArgs& args,
                             std::span<const int> local, int slices, int mine,
                             int step) {
  for (int peer : local)
    if (peer != args.rank && mine >= 0)
      plan.send(peer, output_range(part_of(args.count, slices, mine)), step);
  for (int i = 0; i < slices; ++i)
    if (local[i] != args.rank)
      plan.recv(local[i], output_range(part_of(args.count, slices, i)), step);
}

}  // namespace

Plan hierarchical_allreduce(const AllreduceArgs& args) {
  const SliceOwners owners = slice_owners(args.host_of, args.rank);
  const auto local = neighbours(args.host_of, args.n, args.rank);
  const int slices = owners.slices;
  const int mine = owners.index;
  Plan plan;
  plan.share(0);
  if (args.shared_buffers) {
    if (mine >= 0) {
      const Part slice = part_of(args.count, slices, mine);
      plan.slice_reduce(args.rank, input_range(slice), output_range(slice), 0);
    }
    // In place, the sums overwrite only what nobody else reads: slice i of any
    // input is for the owner of slice i alone.
  } else {
    local_reduce_by_messages(plan, args, local, slices, mine);
    plan.join();
  }
  if (mine >= 0)
    append(plan, slice_ring_allreduce(owners.members, args.rank,
                                      part_of(args.count, slices, mine)));
  const int step = plan.steps() + 1;
  if (args.shared_buffers) {
    plan.fence(step);
    for (int i = 0; i < slices; ++i) {
      const Range slice = output_range(part_of(args.count, slices, i));
      if (local[i] != args.rank) plan.pull(local[i], slice, slice, step);
    }
    plan.fence(step);
  } else {
    plan.join();
    local_share_by_messages(plan, args, local, slices, mine, step);
  }
  return plan;
}

Plan slice_ring_allreduce(std::span<const int> members, int rank, Part slice) {
  const int size = static_cast<int>(members.size());
  if (size == 1) {
    Plan plan;
    plan.finish(output_range(slice), 0);
    return plan;
  }
  int position = static_cast<int>(
      std::find(members.begin(), members.end(), rank) - members.begin());
  RingPlace place{size, position, members[wrap(position + 1, size)],
                  members[wrap(position - 1, size)]};
  return ring_over(place, slice, /*in_place=*/true);
}

SliceOwners slice_owners(std::span<const int> host_of, int rank) {
  if (host_of.empty()) return {};
  std::map<int, std::vector<int>> ranks_on;
  for (int r = 0; r < static_cast<int>(host_of.size()); ++r) {
    ranks_on[host_of[r]].push_back(r);
  }
  size_t slices = host_of.size();
  for (const auto& [host, ranks] : ranks_on) {
    slices = std::min(slices, ranks.size());
  }

  SliceOwners owners;
  owners.slices = static_cast<int>(slices);
  const std::vector<int>& mine = ranks_on[host_of[rank]];
  size_t index = std::find(mine.begin(), mine.end(), rank) - mine.begin();
  if (index >= slices) return owners;
  owners.index = static_cast<int>(index);
  for (const auto& [host, ranks] : ranks_on) {
    owners.members.push_back(ranks[index]);
  }
  std::sort(owners.members.begin(), owners.members.end());
  return owners;
}

}  // namespace rondo
