#include "rondo/planner/report_cells.h"

#include <algorithm>

#include "rondo/base/units.h"

namespace rondo {

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string network_text(const Network& network) {
  const auto counted = [](int count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  std::string text = fmt::format("{} on {}", counted(network.workers, "worker"),
                                 counted(network.hosts, "host"));
  if (network.hosts == 1) return text;
  text += fmt::format(", {} each way, {} latency", rate_text(network.link),
                      seconds_text(network.latency));
  if (network.has_uplinks())
    text += fmt::format("; {} racks, {} between them", network.racks,
                        rate_text(network.uplink));
  return text;
}

std::string marked(bool by_messages, double seconds) {
  return fmt::format("{}{}", by_messages ? "" : "~", seconds_text(seconds));
}

std::string mark_sentence(const Prediction& prediction) {
  const bool any = std::ranges::any_of(
      prediction.methods,
      [](const MethodPrediction& one) { return !one.step.by_messages; });
  if (!any) return {};
  return "~ has too many blocks to look at each: exchanges take what their "
         "closed forms say.";
}

std::string band_sentence(const Prediction& prediction) {
  const bool any = std::ranges::any_of(
      prediction.methods,
      [](const MethodPrediction& one) { return one.band.has_value(); });
  if (!any) return {};
  return "within: so near to what is predicted were 95 % of the steps that "
         "were measured by such a method, in labs of up to 8 hosts and 1 "
         "Gbit/s; -: none were, or too few.";
}

std::string servers_sentence(const Prediction& prediction) {
  if (prediction.best_servers.servers == 0) return {};
  const auto step = [](const ServerChoice& choice) {
    return marked(choice.by_messages, choice.step);
  };
  return fmt::format(
      "Of parameter servers beside the workers, {} would be enough: {} a step; "
      "on spare machines, {}: {} a step.",
      prediction.best_beside.servers, step(prediction.best_beside),
      prediction.best_servers.servers, step(prediction.best_servers));
}

}  // namespace rondo
