// The report for a terminal.
#include "rondo/base/units.h"
#include "rondo/plan/closed_forms.h"
#include "rondo/planner/method_rows.h"
#include "rondo/planner/report_cells.h"
#include "rondo/planner/run_command.h"
#include "rondo/planner/text_table.h"

namespace rondo {
namespace {

using Row = TextRow;

std::string heading(const PlanReport& report) {
  const Workload& workload = report.workload;
  const std::string text = fmt::format(
      "{}: {:.4g} M parameters, {} of gradients; a step of {} takes one worker "
      "{} ({})\n",
      workload.name, workload.parameters / 1e6, bytes_text(workload.bytes()),
      workload.batch, seconds_text(workload.step_seconds),
      workload.step_origin);
  return fmt::format("{}{}\n", text, network_text(report.network));
}

std::string closed_line(const PlanReport& report) {
  const Workload& workload = report.workload;
  const Network& network = report.network;
  const double transfer = ring_seconds(workload.bytes_of_ring(network.workers),
                                       network.workers, network.link);
  return fmt::format(
      "By the closed form of the ring, a link for each worker and nothing "
      "hidden: Tt = {}, Tp = {}, P = {}\n",
      seconds_text(transfer), seconds_text(workload.step_seconds + transfer),
      percent(efficiency_of(transfer, workload.step_seconds)));
}

std::string methods_table(const PlanReport& report) {
  Row head = {""};
  for (const MethodColumn& column : columns_of(report))
    head.push_back(column.name);
  std::vector<Row> rows = {head};
  for (MethodRow& one : rows_of(report)) {
    Row row = {fmt::format("{} {}", one.recommended ? "*" : " ", one.name)};
    row.insert(row.end(), one.cells.begin(), one.cells.end());
    rows.push_back(std::move(row));
  }
  return text_table(rows);
}

std::string rates_table(const PlanReport& report) {
  std::vector<Row> rows = {{"  efficiency", "closed", "simulated"}};
  for (const RateNeeded& rate : report.prediction.rates)
    rows.push_back({fmt::format("  {:.0f} %", 100 * rate.efficiency),
                    rate_text(rate.closed),
                    rate.simulated ? rate_text(*rate.simulated) : "none"});
  return text_table(rows);
}

template <class Name>
std::string sweep_table(const Sweep& sweep, const Name& name) {
  Row head = {"  %"};
  for (const double at : sweep.at) head.push_back(name(at));
  std::vector<Row> rows = {head};
  for (const Curve& curve : sweep.curves) {
    Row row = {fmt::format("  {}", curve.method)};
    for (const double efficiency : curve.efficiency)
      row.push_back(fmt::format("{:.1f}", 100 * efficiency));
    rows.push_back(std::move(row));
  }
  return text_table(rows);
}

// "1G" of 1 Gbit/s.
std::string short_rate(double bytes_per_s) {
  const double megabits = bytes_per_s * 8 / 1e6;
  return megabits < 1000 ? fmt::format("{:.0f}M", megabits)
                         : fmt::format("{:.3g}G", megabits / 1000);
}

}  // namespace

std::string to_text(const PlanReport& report) {
  const Prediction& prediction = report.prediction;
  const MethodPrediction& best = prediction.methods[prediction.recommended];
  std::string text = heading(report);
  if (report.measured) text += to_text(*report.measured);
  if (report.network.hosts > 1) text += closed_line(report);
  text += fmt::format("\n{}", methods_table(report));
  for (const std::string& note :
       {left_out_sentence(report), mark_sentence(prediction),
        band_sentence(prediction)})
    if (!note.empty()) text += fmt::format("  {}\n", note);
  text += '\n';
  text += fmt::format("Take {}: {}.\n", best.method.name(), prediction.reason);
  if (const std::string command = run_command(report); !command.empty())
    text += fmt::format("  {}\n", command);
  if (const std::string servers = servers_sentence(prediction);
      !servers.empty())
    text += fmt::format("{}\n", servers);
  if (report.network.hosts == 1) return text;
  text += fmt::format(
      "\nLinks that an efficiency needs: the ring with nothing hidden, and {} "
      "as simulated,\neach exchange by its closed form there and in what "
      "follows\n{}",
      best.method.name(), rates_table(report));
  text += fmt::format("\nEfficiency by the number of workers\n{}",
                      sweep_table(prediction.workers, [](double at) {
                        return fmt::format("{:.0f}", at);
                      }));
  text += fmt::format("\nEfficiency by the rate of a link, in bit/s\n{}",
                      sweep_table(prediction.rate, short_rate));
  return text;
}

}  // namespace rondo
