// StepSimulator: how a step of all workers goes by a method.
//
// Every worker computes for its own time, during which its exchanges become
// ready one after another. A collective begins on a worker when its own part is
// ready and the one before is over there; pushes to servers wait for nothing.
// What an exchange brings is multiplied, where it is factors, and updates its
// variables: behind the backward pass, in the order in which it comes. A step
// is over when the last worker has made all updates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rondo/plan/method.h"
#include "rondo/plan/workload.h"

namespace rondo {

// How workers differ. The same every time.
struct Stragglers {
  double slowest = 1;  // the last worker takes so many times as long
  // All take longer by so much times the absolute value of a normal deviate,
  // such as 0.1: 8 % of a step on average, and a few of thousands 40 %.
  double jitter = 0;
  uint64_t seed = 1;
};

struct StepOptions {
  Stragglers stragglers = {};
  // A step with more blocks than this is not looked at message by message:
  // exchanges then take what the closed forms say.
  double most_blocks = 4e5;
};

struct StepTimes {
  double computation = 0;    // of a worker alone, products of factors included
  double communication = 0;  // of all exchanges, had they been ready at once
  double waiting = 0;        // by which the slowest worker computes longer
  double exposed = 0;        // what a step takes beyond both
  double step = 0;
  bool by_messages = false;

  double hidden() const;
};

// Seconds that each worker computes, in units of one worker's.
std::vector<double> slowness(int workers, const Stragglers& stragglers);

// The exchanges of a step by this method.
std::vector<PlannedExchange> exchanges_by(const Method& method,
                                          const Network& network,
                                          const Workload& workload);

// Of a factor's flops, for the factors of all other workers.
double seconds_per_flop(const Network& network, const Workload& workload);

// An exchange on a worker: the second at which it is over, and the seconds that
// the worker then computes with what it brought.
struct EndedExchange {
  double end = 0;
  double behind = 0;
};
// The latter for each, on a worker that computes for so long and multiplies
// others' factors at that pace.
std::vector<double> seconds_behind(std::span<const PlannedExchange> exchanges,
                                   double computation, double seconds_per_flop);
// When a worker is through its step, whose backward pass ends at `backward`.
double end_of_step(double backward, std::vector<EndedExchange> exchanges);
// The share of the computation before the updates.
double backward_share(std::span<const PlannedExchange> exchanges);

Result<StepTimes> simulate_step(const Method& method, const Network& network,
                                const Workload& workload,
                                const StepOptions& options = {});

}  // namespace rondo
