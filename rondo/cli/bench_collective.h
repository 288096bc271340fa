// Measuring one collective on a communicator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/collectives/communicator.h"

namespace rondo {

struct BenchOptions {
  std::string collective = "allreduce";
  std::string algorithm = "auto";
  std::string buffers = "mapped";  // or "foreign"
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;  // bytes of the vector, as nccl-tests count them
  int iterations = 0;          // per size; 0: by size and `seconds`
  double seconds = 1;          // per size, at most, after 5 iterations
};

struct BenchRow {
  std::string collective;
  int ranks = 0;
  std::string transport;
  std::string algorithm;
  std::string buffers;
  std::string dtype;
  int64_t bytes = 0;
  int iterations = 0;
  double median_us = 0;
  double min_us = 0;
  double p99_us = 0;
  double algbw_gbps = 0;  // gigabytes per second
  double busbw_gbps = 0;
  bool correct = false;
};

// Names of the collectives that can be measured.
std::vector<std::string> bench_collectives();

// Measures one size. Before every call, timed or not, each rank rewrites its
// input and all ranks meet; the time of a call is that of the slowest rank;
// after every call each rank checks its result. Collective; the row is the same
// on all ranks.
Result<BenchRow> bench_collective(Communicator& comm,
                                  const BenchOptions& options, int64_t bytes);

// The rows as a JSON array.
std::string to_json(const std::vector<BenchRow>& rows);

}  // namespace rondo
