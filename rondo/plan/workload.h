// Workload: what a worker computes and exchanges in a step.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

// A tensor, a bucket of them, some rows of a table, or a factor of a gradient.
struct PlannedExchange {
  double bytes = 0;  // in full precision; of rows and factors: this worker's
  double ready = 0;  // which share of the computation is done by then
  // Rows or a factor: it goes to all workers as it is.
  bool gather = false;
  // Rows of a table, by a gradient that has no others: those of a worker, and
  // of all the table. Servers give each worker those that anybody has changed.
  double rows = 0;
  double table_rows = 0;
  double index_bytes = 0;  // of one of these rows: where in the table it is
  // Of a size that was given only: so many alike, which go one after another.
  double pieces = 1;
  // Operations that multiplying another worker's factors takes; 0 but for the
  // last factor of a gradient.
  double flops = 0;
  // The share of the computation that updates what it is the gradient of, once
  // it has come; of a gradient's factors: with the last.
  double update = 0;
  // How much of it each parameter server gets, in any unit; empty: all the
  // same.
  std::vector<double> by_server = {};

  // What servers give to each of these workers for what it has pushed, in units
  // of that: no two workers have the same rows, while the table has enough.
  double answers(int workers) const {
    if (rows == 0) return 1;
    return std::min(table_rows / rows, static_cast<double>(workers));
  }
  // Bytes that travel; rows do so in full precision.
  double traveling(bool bf16) const {
    return bf16 && rows == 0 ? bytes / 2 : bytes;
  }
  // What goes around the ring, one after another; of rows, how many there are,
  // where they are, and what they hold.
  std::vector<double> rounds() const {
    if (rows == 0) return {bytes};
    constexpr double kCount = 8;
    return {kCount, rows * index_bytes, bytes - rows * index_bytes};
  }
};

// How large buckets are may depend on the number of workers.
using BucketExchanges =
    std::function<std::vector<PlannedExchange>(int workers)>;
// Which server gets what depends on how many there are.
using KeyExchanges = std::function<std::vector<PlannedExchange>(int servers)>;
// How gradients travel depends on the number of workers, the bytes a second of
// a link (0: all are on one host), the operations a second of a worker, and
// the precision on the wire.
struct FactorTerms {
  double link = 0;
  double flop_rate = 0;
  bool bf16 = false;
};
using FactorExchanges = std::function<std::vector<PlannedExchange>(
    int workers, const FactorTerms& terms)>;

struct Workload {
  std::string name;
  double parameters = 0;
  double batch = 0;         // examples of a worker in a step
  double step_seconds = 0;  // of one worker alone
  std::string step_origin;  // "given", "measured here", ...
  // In the order in which they leave: as buckets, and, for servers, each
  // gradient by itself.
  std::vector<PlannedExchange> buckets;
  std::vector<PlannedExchange> keys;
  BucketExchanges buckets_for;  // instead of `buckets`, where there is one
  KeyExchanges keys_for;        // the same of `keys`
  // Empty: no layer's gradient is a product.
  FactorExchanges with_factors;
  // By how many a program chooses what travels so, where its graph does not
  // know how many rows there are; 0: it does.
  double factor_rows = 0;
  double flop_rate = 1e11;  // of a worker

  // Of a worker's gradients.
  double bytes() const;
  // So many, added up around a ring, would take as long: rows go around once,
  // and whole.
  double bytes_of_ring(int workers) const;
};

// How gradients of small tensors are cut into buckets: bytes of the first one,
// and of the others by the number of workers.
struct BucketRule {
  double first = 1 << 20;
  std::function<double(int workers)> later = {};  // none: always 25 MiB
};

// A model of which only its size is known: its gradients become ready evenly
// during the backward pass, which takes two thirds of a step.
Workload uniform_workload(double parameters, const BucketRule& rule = {});

}  // namespace rondo
