#include "rondo/plan/method_plans.h"

#include <bit>
#include <cmath>

#include "rondo/collectives/algorithms.h"

namespace rondo {
namespace {

Algorithm algorithm_of(MethodKind kind) {
  switch (kind) {
    case MethodKind::kNaive: return Algorithm::kNaive;
    case MethodKind::kStar: return Algorithm::kStar;
    case MethodKind::kTree: return Algorithm::kTree;
    case MethodKind::kButterfly: return Algorithm::kButterfly;
    case MethodKind::kDirect: return Algorithm::kDirect;
    case MethodKind::kHierarchical: return Algorithm::kHierarchical;
    default: return Algorithm::kRing;
  }
}

// Which elements each rank adds up.
std::vector<Range> slices_of(const Method& method, const Network& network,
                             int64_t count) {
  const Shares shares = shares_of(method, network);
  std::vector<Range> slices;
  double share = 0;
  int64_t begin = 0;
  for (int rank = 0; rank < network.workers + method.spare; ++rank) {
    share += rank < network.workers ? shares.worker : shares.spare;
    const int64_t end = std::llround(share * static_cast<double>(count));
    slices.push_back({Buffer::kOutput, begin, end - begin});
    begin = end;
  }
  return slices;
}

// A rank gets its slice of all workers, adds up, and gives it back to them;
// a worker sends the other slices away and gets them back.
Plan served_plan(int rank, int workers, const std::vector<Range>& slices) {
  Plan plan;
  const auto self = static_cast<size_t>(rank);
  const auto skipped = [&](size_t owner) {
    return owner == self || slices[owner].count == 0;
  };
  if (rank < workers)
    for (size_t owner = 0; owner < slices.size(); ++owner)
      if (!skipped(owner)) plan.send(static_cast<int>(owner), slices[owner], 0);
  if (slices[self].count > 0) {
    int added = -1;
    for (int worker = 0; worker < workers; ++worker)
      if (worker != rank)
        added = plan.recv_reduce(worker, slices[self], 0, added);
    for (int worker = 0; worker < workers; ++worker)
      if (worker != rank) plan.send(worker, slices[self], 1, added);
  }
  if (rank < workers)
    for (size_t owner = 0; owner < slices.size(); ++owner)
      if (!skipped(owner)) plan.recv(static_cast<int>(owner), slices[owner], 1);
  return plan;
}

}  // namespace

std::vector<Plan> reduction_plans(const Method& method, const Network& network,
                                  int64_t count) {
  std::vector<Plan> plans;
  if (method.spare > 0) {
    const std::vector<Range> slices = slices_of(method, network, count);
    for (size_t rank = 0; rank < slices.size(); ++rank)
      plans.push_back(
          served_plan(static_cast<int>(rank), network.workers, slices));
    return plans;
  }
  std::vector<int> hosts;
  for (int rank = 0; rank < network.workers; ++rank)
    hosts.push_back(network.host_of(rank));
  const AlgorithmEntry& entry = algorithm_entry(algorithm_of(method.kind));
  for (int rank = 0; rank < network.workers; ++rank)
    plans.push_back(entry.build({.n = network.workers,
                                 .rank = rank,
                                 .count = count,
                                 .host_of = hosts}));
  return plans;
}

std::vector<Plan> gather_plans(const Network& network, int64_t count) {
  const std::vector<int64_t> counts(static_cast<size_t>(network.workers),
                                    count);
  std::vector<Plan> plans;
  for (int rank = 0; rank < network.workers; ++rank)
    plans.push_back(ring_allgather(network.workers, rank, counts, true));
  return plans;
}

double messages_of(const Method& method, const Network& network) {
  const double n = network.workers;
  switch (method.kind) {
    case MethodKind::kNaive: return n * (n - 1);
    case MethodKind::kStar:
    case MethodKind::kTree: return 2 * (n - 1);
    case MethodKind::kButterfly:
      return 2 * n * std::bit_width(static_cast<unsigned>(network.workers));
    case MethodKind::kDirect: return n * n;
    case MethodKind::kRing: return 2 * n * (n - 1);
    case MethodKind::kHierarchical:
      return 2 * n * (network.hosts - 1) + n * network.most_on_a_host();
    case MethodKind::kServers: return 2 * n * method.spare;
    case MethodKind::kHybrid: return 2 * n * (n + method.spare);
  }
  return 0;
}

}  // namespace rondo
