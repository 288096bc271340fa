#include "rondo/planner/method_rows.h"

#include "rondo/plan/units.h"
#include "rondo/planner/report_cells.h"

namespace rondo {

std::vector<MethodColumn> columns_of(const PlanReport& report) {
  using One = const MethodPrediction&;
  std::vector<MethodColumn> columns = {
      {"bytes", "bytes a worker sends",
       [](One one) { return bytes_text(one.worker_bytes); }},
      {"closed Tt", "closed form: Tt",
       [](One one) { return seconds_text(one.closed_transfer); }},
      {"closed P", "P", [](One one) { return percent(one.closed_efficiency); }},
      {"comm", "simulated: communication",
       [](One one) {
         return marked(one.step.by_messages, one.step.communication);
       }},
      {"hidden", "hidden",
       [](One one) { return seconds_text(one.step.hidden()); }},
      {"exposed", "exposed",
       [](One one) { return seconds_text(one.step.exposed); }}};
  // All rows have the same.
  if (report.prediction.methods.front().step.waiting > 0)
    columns.push_back({"waiting", "waiting for the slowest",
                       [](One one) { return seconds_text(one.step.waiting); }});
  columns.push_back(
      {"step", "step", [](One one) { return seconds_text(one.step.step); }});
  columns.push_back({"within", "within", [](One one) {
                       return one.band ? fmt::format("{:.0f} %",
                                                     100 * one.band->step)
                                       : std::string("-");
                     }});
  columns.push_back(
      {"P", "P", [](One one) { return percent(one.efficiency); }});
  columns.push_back({"examples/s", "examples/s", [](One one) {
                       return fmt::format("{:.4g}", one.examples_per_s);
                     }});
  if (report.options.price_per_hour > 0)
    columns.push_back({"epoch", "price of an epoch", [](One one) {
                         return fmt::format("{:.2f}", one.epoch_price);
                       }});
  return columns;
}

std::vector<MethodRow> rows_of(const PlanReport& report) {
  const Prediction& prediction = report.prediction;
  const std::vector<MethodColumn> columns = columns_of(report);
  std::vector<MethodRow> rows;
  for (size_t i = 0; i < prediction.methods.size(); ++i) {
    const MethodPrediction& one = prediction.methods[i];
    MethodRow row{.name = one.method.name(),
                  .recommended = i == prediction.recommended};
    for (const MethodColumn& column : columns)
      row.cells.push_back(column.text(one));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rondo
