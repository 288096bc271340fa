#include "rondo/planner/report_cells.h"

#include "rondo/plan/units.h"

namespace rondo {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
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
