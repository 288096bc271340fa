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

// The last elements are for spare machines, a slice for each; the others go
// around the ring meanwhile.
class SparePlans {
 public:
  static constexpr double kElement = 4;  // bytes

  SparePlans(const Method& method, const Network& network, int64_t count,
             std::span<const double> by_server, double answers)
      : workers_(network.workers), answers_(answers) {
    const double share =
        spare_share(method, network, kElement * static_cast<double>(count));
    ring_ = count - std::llround(share * static_cast<double>(count));
    divide(count - ring_, method.spare, by_server);
  }

  Plan of_worker(int rank) const {
    Plan plan;
    if (ring_ > 0)
      plan = ring_allreduce({.n = workers_, .rank = rank, .count = ring_});
    const int spare = static_cast<int>(slices_.size());
    for (int i = 0; i < spare; ++i)
      if (slice(i).count > 0) plan.send(workers_ + i, slice(i), 0);
    for (int i = 0; i < spare; ++i)
      for (const Range& answer : answers(i)) plan.recv(workers_ + i, answer, 1);
    return plan;
  }

  // Gets its slice of all workers, adds up, and gives it back to them.
  Plan of_spare(int i) const {
    Plan plan;
    if (slice(i).count == 0) return plan;
    int added = -1;
    for (int worker = 0; worker < workers_; ++worker)
      added = plan.recv_reduce(worker, slice(i), 0, added);
    for (int worker = 0; worker < workers_; ++worker)
      for (const Range& answer : answers(i))
        plan.send(worker, answer, 1, added);
    return plan;
  }

 private:
  void divide(int64_t count, int spare, std::span<const double> by_server) {
    double all = 0;
    for (const double bytes : by_server) all += bytes;
    double before = 0;
    for (int i = 0; i < spare; ++i) {
      Part part = part_of(count, spare, i);
      if (all > 0) {
        const auto until = [&](double bytes) {
          return std::llround(bytes / all * static_cast<double>(count));
        };
        part.offset = until(before);
        before += by_server[static_cast<size_t>(i)];
        part.count = until(before) - part.offset;
      }
      slices_.push_back({Buffer::kOutput, ring_ + part.offset, part.count});
    }
  }
  const Range& slice(int i) const { return slices_[static_cast<size_t>(i)]; }
  // As messages that are no longer than the slice, of which they are made.
  std::vector<Range> answers(int i) const {
    if (slice(i).count == 0) return {};
    const auto whole = static_cast<size_t>(answers_);
    std::vector<Range> messages(whole, slice(i));
    Range rest = slice(i);
    rest.count = std::llround((answers_ - static_cast<double>(whole)) *
                              static_cast<double>(rest.count));
    if (rest.count > 0) messages.push_back(rest);
    return messages;
  }

  const int workers_;
  const double answers_;
  int64_t ring_ = 0;
  std::vector<Range> slices_;  // by spare machine
};

}  // namespace

std::vector<Plan> reduction_plans(const Method& method, const Network& network,
                                  int64_t count,
                                  std::span<const double> by_server,
                                  double answers) {
  std::vector<Plan> plans;
  if (method.spare > 0) {
    const SparePlans made(method, network, count, by_server, answers);
    for (int rank = 0; rank < network.workers; ++rank)
      plans.push_back(made.of_worker(rank));
    for (int i = 0; i < method.spare; ++i) plans.push_back(made.of_spare(i));
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
