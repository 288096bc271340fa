// Crew: what the workers of a training tell each other besides gradients.
#pragma once

#include <array>
#include <span>

#include "rondo/collectives/communicator.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

// What a worker has to say after a step. Of all workers: the means.
struct StepNews {
  double loss = 0;
  double right = 0;
  double stop = 0;  // above 0: somebody was asked to end
};

// All workers call the same methods in the same order. One thread.
class Crew {
 public:
  // All ranks of this job; a job of one rank has nobody to talk to.
  static Result<Crew> join();
  Crew(Crew&&) = default;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // The worker's own failure; of others' failures, one that says only whose it
  // was, with code kCancelled.
  Status agree(const Status& mine);
  // In place, over all workers.
  Status sum(std::span<double> values);
  // Each worker's `mine` behind the other's.
  Result<std::vector<double>> gather(std::span<const double> mine);
  // Of all workers, on rank 0; elsewhere nothing. No news are under way.
  Result<std::string> trace(const Timeline& mine);

  // Sends the news of a step while the next one runs; finish() gives their
  // means.
  void begin(const StepNews& mine);
  Result<StepNews> finish();

 private:
  Crew() = default;
  int rank_ = 0;
  int size_ = 1;
  // Not within this object, which moves.
  std::shared_ptr<std::array<double, 3>> news_ =
      std::make_shared<std::array<double, 3>>();
  Work sending_;
  Communicator comm_;  // goes first, and with it what still uses the news
};

}  // namespace rondo
