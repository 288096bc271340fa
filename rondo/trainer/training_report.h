// TrainingReport: what is said when a training has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rondo/kernels/bucket_choice.h"
#include "rondo/train/exchange_plan.h"
#include "rondo/trainer/train_options.h"

namespace rondo {

struct WorkerLine {
  double per_second = 0;  // its own examples
  // Shares of its time; what is left it computes.
  double input = 0;
  double communication = 0;             // that nothing hides
  std::vector<double> for_worker = {};  // waiting for each of the others
  // False: no step was looked at, and all but the input is unknown.
  bool looked = true;

  double slowest() const;  // waiting for all of them
  double computing() const;
};

// Examples per second of one worker alone.
struct Comparison {
  double same_threads = 0;  // with a worker's threads and share of the batch
  double all_cores = 0;     // with all cores and the whole batch
  int threads = 1;
  int cores = 1;
};

struct TrainingReport {
  std::string strategy;
  int threads = 1;  // of each worker
  int64_t steps = 0;
  double seconds = 0;
  std::optional<double> accuracy;  // on the test
  std::vector<WorkerLine> workers;
  std::optional<Comparison> comparison;
  std::vector<Travel> travels;        // of gradients, where they do
  std::vector<BucketChoice> buckets;  // where their sizes were tried
  std::string checkpoint;             // empty: none
  std::string summary;
  std::string trace;
};

// Workers for whom the others waited a tenth of their time or more, with that
// share, the worst first.
std::vector<std::pair<int, double>> stragglers(
    const std::vector<WorkerLine>& workers);

// In lines, without the last one's end.
std::string report_text(const TrainOptions& options,
                        const TrainingReport& report, const char* unit);

}  // namespace rondo
