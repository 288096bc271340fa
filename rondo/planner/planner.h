// The planner: what `rondo plan` does.
#pragma once

#include "rondo/planner/lab_check.h"
#include "rondo/planner/plan_options.h"

namespace rondo {

// All that the reports are made of.
struct PlanReport {
  Network network;
  Workload workload;
  PredictOptions options;
  Prediction prediction;
  bool by_rondo_train = false;  // whether that can train this model, on CPUs
  std::optional<LinkSurvey> measured;  // the links, where they were
  std::vector<CheckedMethod> checked;  // where that was asked for
};

Result<PlanReport> make_plan(const PlanOptions& options);

// For a terminal; as an object; as a page that needs no other file.
std::string to_text(const PlanReport& report);
std::string to_json(const PlanReport& report);
std::string to_page(const PlanReport& report);

}  // namespace rondo
