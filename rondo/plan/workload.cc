#include "rondo/plan/workload.h"

#include <algorithm>
#include <cmath>

namespace rondo {
namespace {

constexpr double kForward = 1.0 / 3;
constexpr double kPiece = 25 << 20;
// Of larger models several pieces are looked at as one.
constexpr double kMostPieces = 4096;

// So many bytes in pieces, which come evenly during the backward pass.
std::vector<PlannedExchange> in_pieces(double total, double first,
                                       double later) {
  std::vector<PlannedExchange> pieces;
  const double together = std::max(1.0, std::ceil(total / later / kMostPieces));
  for (double left = total; left > 0;) {
    const double bytes =
        std::min(left, left == total ? first : together * later);
    left = bytes < left ? left - bytes : 0;
    pieces.push_back({.bytes = bytes,
                      .ready = kForward + (1 - kForward) * (1 - left / total),
                      .pieces = std::ceil(bytes / later)});
  }
  return pieces;
}

}  // namespace

double Workload::bytes() const {
  double sum = 0;
  for (const PlannedExchange& key : keys) sum += key.bytes;
  return sum;
}

double Workload::bytes_of_ring(int workers) const {
  double sum = 0;
  for (const PlannedExchange& key : keys)
    sum += key.gather ? key.bytes * workers / 2 : key.bytes;
  return sum;
}

Workload uniform_workload(double parameters, const BucketRule& rule) {
  Workload workload;
  workload.name = "a model of that size";
  workload.parameters = parameters;
  const double total = 4 * parameters;
  workload.buckets_for = [total, rule](int workers) {
    return in_pieces(total, rule.first,
                     rule.later ? rule.later(workers) : kPiece);
  };
  workload.buckets = workload.buckets_for(2);
  workload.keys = in_pieces(total, rule.first, kPiece);
  return workload;
}

}  // namespace rondo
