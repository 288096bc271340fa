#include "rondo/planner/method_rows.h"

#include <algorithm>
#include <cmath>

#include "rondo/base/units.h"
#include "rondo/planner/report_cells.h"

namespace rondo {
namespace {

bool nearly_equal(double a, double b) {
  return std::abs(a - b) <= 0.001 * std::max(a, b);
}

// Whether they differ in the number of machines, and nobody would see it.
bool is_same(const MethodPrediction& a, const MethodPrediction& b) {
  Method other = b.method;
  other.spare = a.method.spare;
  return a.method.spare > 0 && other == a.method &&
         a.step.by_messages == b.step.by_messages &&
         nearly_equal(a.worker_bytes, b.worker_bytes) &&
         nearly_equal(a.closed_transfer, b.closed_transfer) &&
         nearly_equal(a.step.communication, b.step.communication) &&
         nearly_equal(a.step.exposed, b.step.exposed) &&
         nearly_equal(a.step.step, b.step.step) &&
         nearly_equal(a.epoch_price, b.epoch_price);
}

// Of many workers, numbers of servers that are far too few.
bool is_left_out(const PlanReport& report, const MethodPrediction& one) {
  constexpr int kMany = 64;
  const Prediction& prediction = report.prediction;
  const double best = prediction.methods[prediction.recommended].step.step;
  return report.network.workers > kMany && one.method.spare > 0 &&
         one.step.step > 10 * best;
}

// Past the last method that is in one row with this one. The recommended one
// has a row of its own.
size_t end_of_row(const Prediction& prediction, size_t begin) {
  const auto& methods = prediction.methods;
  size_t end = begin + 1;
  while (begin != prediction.recommended && end < methods.size() &&
         end != prediction.recommended && is_same(methods[begin], methods[end]))
    ++end;
  return end;
}

// "hybrid 1 to 4".
std::string name_of_row(const Method& first, const Method& last) {
  std::string name = first.name();
  if (first == last) return name;
  const std::string number = fmt::format(" {}", first.spare);
  return name.insert(name.find(number) + number.size(),
                     fmt::format(" to {}", last.spare));
}

}  // namespace

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
  if (!band_sentence(report.prediction).empty())
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
    columns.push_back(
        {fmt::format("epoch of {}", report.options.epoch_examples),
         "price of an epoch",
         [](One one) { return fmt::format("{:.2f}", one.epoch_price); }});
  return columns;
}

std::string left_out_sentence(const PlanReport& report) {
  const bool any = std::ranges::any_of(
      report.prediction.methods,
      [&](const MethodPrediction& one) { return is_left_out(report, one); });
  if (!any) return {};
  return "Numbers of servers by which a step takes more than ten times as long "
         "as by the recommended method are left out; --json has them.";
}

std::vector<MethodRow> rows_of(const PlanReport& report) {
  const auto& methods = report.prediction.methods;
  const std::vector<MethodColumn> columns = columns_of(report);
  std::vector<MethodRow> rows;
  for (size_t i = 0; i < methods.size();) {
    if (is_left_out(report, methods[i])) {
      ++i;
      continue;
    }
    const size_t end = end_of_row(report.prediction, i);
    MethodRow row{
        .name = name_of_row(methods[i].method, methods[end - 1].method),
        .recommended = i == report.prediction.recommended};
    for (const MethodColumn& column : columns)
      row.cells.push_back(column.text(methods[i]));
    rows.push_back(std::move(row));
    i = end;
  }
  return rows;
}

}  // namespace rondo
