// Hierarchical: within a host the ranks reduce by mapped memory (direct), each
// its own slice; the owners of the same slice, one per host, then reduce that
// slice over the hosts by the ring; then the slices are shared within each
// host. This file is the part between the hosts.
#include <algorithm>
#include <map>

#include "rondo/collectives/message_plans.h"
#include "rondo/collectives/plan_parts.h"
#include "rondo/collectives/ring.h"

namespace rondo {

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
