// The report as a JSON object, in base units: bytes, seconds, bytes a second.
#include <nlohmann/json.hpp>

#include "rondo/planner/run_command.h"

namespace rondo {
namespace {

using nlohmann::ordered_json;

ordered_json to_object(const Network& network) {
  return {{"workers", network.workers}, {"hosts", network.hosts},
          {"link", network.link},       {"latency", network.latency},
          {"racks", network.racks},     {"uplink", network.uplink},
          {"payload", network.payload}};
}

ordered_json to_object(const Workload& workload) {
  return {{"name", workload.name},
          {"parameters", workload.parameters},
          {"bytes", workload.bytes()},
          {"batch", workload.batch},
          {"step_seconds", workload.step_seconds},
          {"step_origin", workload.step_origin},
          {"flop_rate", workload.flop_rate}};
}

ordered_json to_object(const PlannedExchange& exchange) {
  return {{"bytes", exchange.bytes},
          {"ready", exchange.ready},
          {"gather", exchange.gather}};
}

ordered_json to_object(const std::optional<ErrorBand>& band) {
  if (!band) return nullptr;
  return {{"communication", band->communication}, {"step", band->step}};
}

ordered_json to_object(const RateNeeded& rate) {
  ordered_json object = {{"efficiency", rate.efficiency},
                         {"closed", rate.closed},
                         {"simulated", nullptr}};
  if (rate.simulated) object["simulated"] = *rate.simulated;
  return object;
}

ordered_json to_object(const Sweep& sweep) {
  ordered_json curves = ordered_json::object();
  for (const Curve& curve : sweep.curves)
    curves[curve.method] = curve.efficiency;
  return {{"at", sweep.at}, {"efficiency", curves}};
}

ordered_json to_object(const CheckedMethod& one) {
  const bool tried = one.measured.rounds > 0;
  const auto pair = [&](double predicted, double measured) {
    ordered_json times = {{"predicted", predicted}};
    if (tried) times["measured"] = measured;
    return times;
  };
  return {
      {"method", one.method.name()},
      {"worker_bytes", pair(one.predicted_bytes, one.measured.worker_bytes)},
      {"communication_seconds",
       pair(one.predicted.communication, one.measured.communication)},
      {"step_seconds", pair(one.predicted.step, one.measured.step)},
      {"rounds", one.measured.rounds}};
}

template <class T>
ordered_json to_list(const std::vector<T>& items) {
  ordered_json list = ordered_json::array();
  for (const T& item : items) list.push_back(to_object(item));
  return list;
}

ordered_json to_object(const MethodPrediction& one, const PlanReport& report) {
  return {{"method", one.method.name()},
          {"spare_machines", one.method.spare_machines()},
          {"servers", one.method.by_keys() ? one.method.spare : 0},
          {"worker_bytes", one.worker_bytes},
          {"closed",
           {{"communication_seconds", one.closed_transfer},
            {"efficiency", one.closed_efficiency}}},
          {"simulated",
           {{"communication_seconds", one.step.communication},
            {"hidden_seconds", one.step.hidden()},
            {"exposed_seconds", one.step.exposed},
            {"waiting_seconds", one.step.waiting},
            {"step_seconds", one.step.step},
            {"efficiency", one.efficiency},
            {"by_messages", one.step.by_messages}}},
          {"error_band", to_object(one.band)},
          {"examples_per_s", one.examples_per_s},
          {"epoch_seconds", one.epoch_seconds},
          {"epoch_price", one.epoch_price},
          {"exchanges",
           to_list(exchanges_by(one.method, report.network, report.workload))}};
}

ordered_json methods_of(const PlanReport& report) {
  ordered_json list = ordered_json::array();
  for (const MethodPrediction& one : report.prediction.methods)
    list.push_back(to_object(one, report));
  return list;
}

}  // namespace

std::string to_json(const PlanReport& report) {
  const Prediction& prediction = report.prediction;
  ordered_json object = {
      {"workload", to_object(report.workload)},
      {"network", to_object(report.network)},
      {"methods", methods_of(report)},
      {"recommended", prediction.methods[prediction.recommended].method.name()},
      {"reason", prediction.reason},
      {"command", run_command(report)},
      {"best_servers", prediction.best_servers.servers},
      {"best_servers_step_seconds", prediction.best_servers.step},
      {"best_servers_beside", prediction.best_beside.servers},
      {"best_servers_beside_step_seconds", prediction.best_beside.step},
      {"rates_needed", to_list(prediction.rates)},
      {"checked", to_list(report.checked)},
      {"by_workers", to_object(prediction.workers)},
      {"by_rate", to_object(prediction.rate)}};
  if (report.measured)
    object["measured"] = ordered_json::parse(to_json(*report.measured));
  // A graph's file may have any name.
  return object.dump(1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace rondo
