// PlanOptions: what `rondo plan` is told, in the words of the command line.
#pragma once

#include <cstdint>
#include <string>

#include "rondo/plan/prediction.h"

namespace rondo {

struct PlanOptions {
  std::string model;   // of `rondo train`, or a file with a graph
  std::string params;  // instead of a model: how many it has
  int64_t batch = 32;  // examples of a worker in a step
  std::string optimizer = "momentum";

  int64_t workers = 4;
  int64_t hosts = 0;  // 0: one for each worker
  std::string link = "10gbit";
  std::string latency = "50us";
  int64_t racks = 1;
  std::string uplink;  // of a rack; empty: as much as anybody sends

  std::string step_time = "estimate";  // or "measure", or seconds
  std::string flops;                   // of a worker, for the estimate
  double straggler = 1;
  double jitter = 0;

  double price_per_hour = 0;  // of a machine
  std::string examples;       // of an epoch; empty: the model's usual data

  bool check = false;         // in a lab
  std::string check_methods;  // "ring; ps 2"; empty: a choice of them
  std::string replay;         // not for people: a file with a ReplayJob

  std::string json;  // files to write
  std::string page;
};

// What cannot work gets an error that names the option.
Result<Network> network_of(const PlanOptions& options);
// The workload, its step's time included.
Result<Workload> workload_of(const PlanOptions& options);
Result<PredictOptions> predict_options_of(const PlanOptions& options);

}  // namespace rondo
