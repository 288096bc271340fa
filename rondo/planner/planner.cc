#include "rondo/planner/planner.h"

namespace rondo {

Result<PlanReport> make_plan(const PlanOptions& options) {
  PlanReport report;
  report.measured = options.measured;
  RONDO_ASSIGN_OR_RETURN(report.network, network_of(options));
  RONDO_ASSIGN_OR_RETURN(report.options, predict_options_of(options));
  RONDO_ASSIGN_OR_RETURN(report.workload, workload_of(options));
  report.by_rondo_train = options.is_model() && !options.on_gpus();
  RONDO_ASSIGN_OR_RETURN(
      report.prediction,
      predict(report.network, report.workload, report.options));
  return report;
}

}  // namespace rondo
