// PlanOptions: what `rondo plan` is told, in the words of the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rondo/plan/prediction.h"
#include "rondo/planner/link_survey.h"

namespace rondo {

// What a plan may be told at most.
inline constexpr int64_t kMostBatch = 1'000'000;
inline constexpr int64_t kMostCores = 65536;
inline constexpr double kMostStraggler = 1000;
inline constexpr double kMostJitter = 10;
inline constexpr double kMostPrice = 1e9;
inline constexpr int64_t kMostCheckRounds = 100'000;

struct PlanOptions {
  std::string model;   // of `rondo train`, or a file with a graph
  std::string params;  // instead of a model: how many it has
  int64_t batch = 32;  // examples of a worker in a step
  std::string optimizer = "momentum";

  std::optional<int64_t> workers;  // none: one for each host, or 4
  int64_t hosts = 0;               // 0: one for each worker
  std::vector<int> on_hosts;       // workers of each; empty: equally many
  int64_t gpus_per_host = 0;       // a worker on each; 0: as hosts says
  std::string link;                // empty: as measured, or 10gbit
  std::string latency;             // empty: as measured, or 50us
  std::optional<LinkSurvey> measured;
  int64_t racks = 1;
  std::string uplink;  // of a rack; empty: as much as anybody sends

  std::string step_time = "estimate";  // or "measure", or seconds
  std::vector<std::string> feeds;      // "NAME=NUMBER", to measure with
  std::string device;                  // of a worker, for the estimate
  std::string precision = "fp32";      // of its products
  // Of a worker, or of a host, whose workers share them; neither: those here,
  // shared in the same way.
  int64_t cores = 0;
  int64_t cores_per_host = 0;
  std::string flops;  // of a worker, instead of a device
  double straggler = 1;
  double jitter = 0;

  double price_per_hour = 0;  // of a machine
  std::string examples;       // of an epoch; empty: the model's usual data

  bool check = false;         // in a lab
  std::string check_methods;  // "ring; ps 2"; empty: a choice of them
  int64_t check_rounds = 0;   // of each measurement; 0: by their time
  std::string replay;         // not for people: a file with a ReplayJob

  std::string json;  // files to write
  std::string page;

  // Whether it is one of `rondo train`.
  bool is_model() const;
  // Whether workers compute on GPUs, of which the table has figures.
  bool on_gpus() const;
  bool measures_step() const { return step_time == "measure"; }
  bool cores_told() const { return cores > 0 || cores_per_host > 0; }
};

// What cannot work gets an error that names the option.
Status check_device(const PlanOptions& options);
Result<Network> network_of(const PlanOptions& options);
// With the option's name in front of what is wrong.
Result<double> named(std::string_view option, Result<double> value);
// Whether there is such a model or graph, and a step of it can be had; nothing
// is measured yet.
Status check_workload(const PlanOptions& options);
// The workload, its step's time included.
Result<Workload> workload_of(const PlanOptions& options);
Result<PredictOptions> predict_options_of(const PlanOptions& options);

}  // namespace rondo
