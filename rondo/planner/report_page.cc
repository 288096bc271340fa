// The report as a page that needs no other file.
#include "rondo/base/units.h"
#include "rondo/planner/method_rows.h"
#include "rondo/planner/report_cells.h"
#include "rondo/planner/run_command.h"
#include "rondo/planner/svg_plot.h"

namespace rondo {
namespace {

constexpr std::string_view kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 74em;
       padding: 0 1em; color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1em 0; font-size: 14px; }
td, th { padding: .25em .7em; text-align: right; border-bottom: 1px solid #ddd; }
td { white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
tr.best { background: #eef6ee; font-weight: 600; }
svg { width: 100%; max-width: 62em; height: auto; margin: 1em 0; }
svg text { font: 12px system-ui, sans-serif; fill: #333; }
svg text.title { font-size: 15px; font-weight: 600; }
pre { background: #f6f6f6; padding: .6em .8em; white-space: pre-wrap; }
.grid { stroke: #e5e5e5; } .axis { stroke: #888; }
.mark { stroke: #888; stroke-dasharray: 4 3; }
.curve { fill: none; stroke-width: 2; }
)";

std::string row_of(const std::vector<std::string>& cells, std::string_view tag,
                   std::string_view kind = "") {
  std::string row = fmt::format("<tr class=\"{}\">", kind);
  for (const std::string& cell : cells)
    row += fmt::format("<{0}>{1}</{0}>", tag, html_text(cell));
  return row + "</tr>\n";
}

std::string methods_table(const PlanReport& report) {
  std::vector<std::string> head = {"method"};
  for (const MethodColumn& column : columns_of(report))
    head.emplace_back(column.title);
  std::string text = "<table>\n" + row_of(head, "th");
  for (MethodRow& one : rows_of(report)) {
    one.cells.insert(one.cells.begin(), one.name);
    text += row_of(one.cells, "td", one.recommended ? "best" : "");
  }
  return text + "</table>\n";
}

std::string rates_table(const Prediction& prediction) {
  std::string text = "<table>\n" + row_of({"efficiency", "ring, nothing hidden",
                                           "recommended, simulated"},
                                          "th");
  for (const RateNeeded& rate : prediction.rates)
    text += row_of({percent(rate.efficiency), rate_text(rate.closed),
                    rate.simulated ? rate_text(*rate.simulated) : "none"},
                   "td");
  return text + "</table>\n";
}

std::string checked_table(const PlanReport& report) {
  const std::vector<TextRow> rows = check_rows(report.checked);
  std::string text = "<table>\n" + row_of(rows.front(), "th");
  for (size_t i = 1; i < rows.size(); ++i) text += row_of(rows[i], "td");
  return text + "</table>\n";
}

std::string summary(const PlanReport& report) {
  const Workload& workload = report.workload;
  return fmt::format(
      "{:.4g} M parameters, {} of gradients; a step of {} examples takes one "
      "worker {} ({}). {}.",
      workload.parameters / 1e6, bytes_text(workload.bytes()), workload.batch,
      seconds_text(workload.step_seconds), workload.step_origin,
      network_text(report.network));
}

std::string paragraph(std::string_view text) {
  return text.empty() ? std::string()
                      : fmt::format("<p>{}</p>\n", html_text(text));
}

// The table of methods, and which to take.
std::string methods_part(const PlanReport& report) {
  const Prediction& prediction = report.prediction;
  std::string text = methods_table(report);
  for (const std::string& note :
       {left_out_sentence(report), mark_sentence(prediction),
        band_sentence(prediction)})
    text += paragraph(note);
  text += fmt::format(
      "<p><b>Take {}</b>: {}.</p>\n",
      html_text(prediction.methods[prediction.recommended].method.name()),
      html_text(prediction.reason));
  if (const std::string command = run_command(report); !command.empty())
    text += fmt::format("<pre>{}</pre>\n", html_text(command));
  return text + paragraph(servers_sentence(prediction));
}

// What was measured in a lab; nothing where that was not asked for.
std::string checked_part(const PlanReport& report) {
  if (report.checked.empty() || report.checked.front().measured.rounds == 0)
    return {};
  return fmt::format("<h2>Tried in a lab</h2>\n{}{}{}",
                     paragraph(fmt::format("{}.", kCheckHeading)),
                     checked_table(report), paragraph(check_sentence(report)));
}

// Other links and other numbers of workers.
std::string sweeps_part(const PlanReport& report) {
  const Prediction& prediction = report.prediction;
  if (report.network.hosts == 1) return {};
  std::string text = fmt::format(
      "<h2>Links that an efficiency needs</h2>\n"
      "<p>Here and in the plots, each exchange takes what its closed form "
      "says.</p>\n{}",
      rates_table(prediction));
  text += svg_plot(prediction.workers,
                   {.title = "Efficiency by the number of workers",
                    .axis = "workers",
                    .tick = [](double at) { return fmt::format("{:.0f}", at); },
                    .mark = static_cast<double>(report.network.workers)});
  return text + svg_plot(prediction.rate,
                         {.title = "Efficiency by the rate of a link",
                          .axis = "Gbit/s, each way",
                          .tick =
                              [](double at) {
                                return fmt::format("{:.3g}", at * 8 / 1e9);
                              },
                          .mark = report.network.link});
}

}  // namespace

std::string to_page(const PlanReport& report) {
  const std::string title =
      fmt::format("rondo plan: {}", html_text(report.workload.name));
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n"
      "<title>{0}</title>\n<style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n"
      "{2}",
      title, kStyle, paragraph(summary(report)));
  if (report.measured) page += paragraph(to_text(*report.measured));
  page += methods_part(report) + checked_part(report) + sweeps_part(report);
  return page + "</body>\n</html>\n";
}

}  // namespace rondo
