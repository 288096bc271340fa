// Prediction: what training a workload on a network would be like, by every
// method.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rondo/plan/error_band.h"
#include "rondo/plan/step_simulator.h"

namespace rondo {

struct PredictOptions {
  StepOptions step = {};
  double price_per_hour = 0;  // of a machine; 0: nobody asked
  double epoch_examples = 0;  // that an epoch has
};

// What a method is predicted to do. The closed form lets nothing hide; the
// simulation has buckets that leave while gradients are still computed.
struct MethodPrediction {
  Method method;
  double worker_bytes = 0;  // that a worker sends in a step
  double closed_transfer = 0;
  double closed_efficiency = 0;
  StepTimes step;
  std::optional<ErrorBand> band;  // none: nobody has measured such a step
  double efficiency = 0;          // one worker's step by that of all
  double examples_per_s = 0;
  double epoch_seconds = 0;
  double epoch_price = 0;
};

// Bytes a second of a link that an efficiency needs.
struct RateNeeded {
  double efficiency = 0;
  double closed = 0;                // by the closed form of the ring
  std::optional<double> simulated;  // by the recommended method; none: no rate
};

// Efficiencies along an axis, of one method.
struct Curve {
  std::string method;
  std::vector<double> efficiency;
};
struct Sweep {
  std::vector<double> at;  // workers, or bytes a second
  std::vector<Curve> curves;
};

// The fewest servers that are as fast as any number, and what a step takes
// then; 0 where there is but one host.
struct ServerChoice {
  int servers = 0;
  double step = 0;
  bool by_messages = false;
};

struct Prediction {
  std::vector<MethodPrediction> methods;
  size_t recommended = 0;
  std::string reason;
  // On spare machines, and beside the workers.
  ServerChoice best_servers;
  ServerChoice best_beside;
  // What follows is empty where there is but one host.
  std::vector<RateNeeded> rates;  // for 50, 75, 90 and 95 %
  Sweep workers;                  // 2 ... 4096
  Sweep rate;                     // 100 Mbit/s ... 400 Gbit/s
};

Result<MethodPrediction> predict_method(const Method& method,
                                        const Network& network,
                                        const Workload& workload,
                                        const PredictOptions& options);

Result<Prediction> predict(const Network& network, const Workload& workload,
                           const PredictOptions& options = {});

}  // namespace rondo
