// BucketTuner: how large the buckets of a training step should be, by trying.
//
// All ranks make the same steps, so they count them, and take the same size in
// the same step without a word: some steps to get warm, then the sizes in turn,
// several times, so that what slows a machine down for a while slows all of
// them. Then the ranks exchange what they measured, once, and decide by the
// mean, alike. From then on nothing changes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rondo/kernels/bucket_choice.h"
#include "rondo/kernels/exchange_buckets.h"

namespace rondo {

// Of steps with the same exchanges. Not synchronised.
class RONDO_API BucketTuner {
 public:
  static constexpr int64_t kWarmUp = 3;  // steps
  static constexpr int64_t kRounds = 5;
  // What another size has to gain over the usual one.
  static constexpr double kLeastGain = 0.02;

  // Tries a quarter of the usual limit, that, four and 16 times as much; those
  // that give the same buckets are tried once.
  BucketTuner(const std::vector<ExchangeUnit>& units, int64_t usual_limit);

  struct Step {
    const ExchangeBuckets* buckets = nullptr;  // the tuner's
    std::optional<size_t> trial;  // its time is wanted, for this size
    bool settles = false;         // the ranks decide in it
  };
  // How the next step is made.
  Step next() const;
  // It has begun: all ranks make it.
  void count() { ++steps_; }
  // What a step took that was a trial.
  void record(size_t size, double seconds);
  // For each size, the median of what was measured here; NaN: nothing was.
  std::vector<double> measured() const;
  // With the means of these over all ranks.
  void settle(std::span<const double> means);

  const BucketChoice& choice() const { return choice_; }

 private:
  BucketChoice choice_;
  std::vector<ExchangeBuckets> buckets_;    // by size
  std::vector<std::vector<double>> times_;  // by size
  int64_t steps_ = 0;
};

}  // namespace rondo
