#include "rondo/planner/run_command.h"

#include "rondo/base/units.h"

namespace rondo {
namespace {

// What decides which gradients travel as factors, where --factors does not.
std::string factor_variables(const PlanReport& report, const Method& method) {
  if (!report.workload.with_factors) return {};
  if (!method.factors)
    return report.by_rondo_train ? "" : " --env RONDO_FACTORS=off";
  std::string text;
  if (report.network.hosts > 1)
    text += " --env RONDO_LINK=" + rate_option(report.network.link);
  text += " --env RONDO_FLOPS=" + number_option(report.workload.flop_rate);
  const double rows = report.workload.factor_rows;
  if (report.by_rondo_train || rows == 0) return text;
  return text + fmt::format(" --env RONDO_FACTOR_ROWS={:.0f}", rows);
}

// The batch of `rondo train` is that of all workers.
std::string program(const PlanReport& report, const Method& method) {
  if (!report.by_rondo_train) return "PROGRAM";
  std::string_view factors;
  if (method.factors)
    factors = " --factors auto";
  else if (report.workload.with_factors && method.kind != MethodKind::kServers)
    factors = " --factors off";
  return fmt::format("rondo train {} --data DATA --batch {:.0f}{}",
                     report.workload.name,
                     report.network.workers * report.workload.batch, factors);
}

}  // namespace

std::string run_command(const PlanReport& report) {
  const Network& network = report.network;
  if (network.workers == 1) return {};
  const Prediction& prediction = report.prediction;
  const Method& method = prediction.methods[prediction.recommended].method;
  const std::string how =
      method.kind == MethodKind::kServers
          ? fmt::format("--strategy ps --servers {}", method.spare)
          : fmt::format("--strategy ring --env RONDO_ALGORITHM={}{}",
                        name_of(method.kind), factor_variables(report, method));
  return fmt::format("rondo run -n {}{} {} -- {}", network.workers,
                     network.hosts > 1 ? " --hosts HOSTS" : "", how,
                     program(report, method));
}

}  // namespace rondo
