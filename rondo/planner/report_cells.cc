#include "rondo/planner/report_cells.h"

#include "rondo/plan/units.h"

namespace rondo {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::vector<std::string> cells_of(const MethodPrediction& method, bool priced) {
  std::vector<std::string> cells = {
      bytes_text(method.worker_bytes),
      seconds_text(method.closed_transfer),
      percent(method.closed_efficiency),
      seconds_text(method.step.communication),
      seconds_text(method.step.hidden()),
      seconds_text(method.step.exposed),
      seconds_text(method.step.step),
      percent(method.efficiency),
      fmt::format("{:.4g}", method.examples_per_s)};
  if (priced) cells.push_back(fmt::format("{:.2f}", method.epoch_price));
  return cells;
}

std::string servers_sentence(const Prediction& prediction) {
  if (prediction.best_servers == 0) return {};
  return fmt::format(
      "Of parameter servers beside the workers, {} would be enough: {} a step; "
      "on spare machines, {}: {} a step.",
      prediction.best_beside, seconds_text(prediction.best_beside_step),
      prediction.best_servers, seconds_text(prediction.best_servers_step));
}

}  // namespace rondo
