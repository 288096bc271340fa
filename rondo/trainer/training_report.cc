#include "rondo/trainer/training_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace rondo {
namespace {

std::string counted(int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string worker_table(const std::vector<WorkerLine>& workers,
                         const char* unit) {
  std::string text = fmt::format(
      "  worker {:>10}/s  computing  communication  for the slowest  input",
      unit);
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    const WorkerLine& worker = workers[rank];
    const auto share = [&](double part) {
      return worker.looked ? fmt::format("{:.1f} %", 100 * part)
                           : std::string("-");
    };
    text += fmt::format("\n  {:>6} {:>12.0f} {:>10} {:>14} {:>16} {:>4.1f} %",
                        rank, worker.per_second, share(worker.computing()),
                        share(worker.communication), share(worker.slowest()),
                        100 * worker.input);
  }
  for (const auto& [rank, share] : stragglers(workers))
    text += fmt::format(
        "\nstraggler: worker {}; the others waited for it for {:.0f} % of "
        "their time",
        rank, 100 * share);
  return text;
}

std::string comparison_text(const Comparison& than, double all,
                            const char* unit) {
  return fmt::format(
      "speed-up: {:.2f} over one worker with {} ({:.0f} {}/s), {:.2f} over one "
      "with {} and the whole batch ({:.0f} {}/s)",
      all / than.same_threads, counted(than.threads, "thread"),
      than.same_threads, unit, all / than.all_cores,
      than.cores == 1 ? std::string("its only core")
                      : fmt::format("all {} cores", than.cores),
      than.all_cores, unit);
}

// What a worker sends in a step, and which gradients travel as factors. Empty
// where nobody knows.
std::string travel_text(const std::vector<Travel>& travels) {
  double bytes = 0;
  std::vector<std::string_view> factors;
  for (const Travel& travel : travels) {
    if (!travel.per_row) bytes += travel.bytes;
    if (travel.how == "factors") factors.push_back(travel.variable);
  }
  if (travels.empty()) return {};
  std::string text =
      fmt::format("a worker sends {:.3g} MB in a step; ", bytes / 1e6);
  if (factors.empty()) return text + "no gradient travels as factors";
  return fmt::format("{}as factors: {}", text, fmt::join(factors, ", "));
}

}  // namespace

double WorkerLine::slowest() const {
  return std::accumulate(for_worker.begin(), for_worker.end(), 0.0);
}

double WorkerLine::computing() const {
  return std::max(0.0, 1 - input - communication - slowest());
}

std::vector<std::pair<int, double>> stragglers(
    const std::vector<WorkerLine>& workers) {
  constexpr double kLeast = 0.1;
  std::vector<std::pair<int, double>> found;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    double sum = 0;
    for (const WorkerLine& worker : workers)
      if (rank < worker.for_worker.size()) sum += worker.for_worker[rank];
    // It does not wait for itself.
    const double share = sum / static_cast<double>(workers.size() - 1);
    if (workers.size() > 1 && share >= kLeast)
      found.emplace_back(static_cast<int>(rank), share);
  }
  std::ranges::sort(found, std::greater(), &std::pair<int, double>::second);
  return found;
}

std::string report_text(const TrainOptions& options,
                        const TrainingReport& report, const char* unit) {
  const double all = std::accumulate(
      report.workers.begin(), report.workers.end(), 0.0,
      [](double sum, const WorkerLine& line) { return sum + line.per_second; });
  std::string text = fmt::format(
      "{} on {}: {} in {:.1f} s, {} ({}, {} each), batch {}, {:.0f} {}/s",
      options.model, options.data, counted(report.steps, "step"),
      report.seconds,
      counted(static_cast<int64_t>(report.workers.size()), "worker"),
      report.strategy, counted(report.threads, "thread"), options.batch, all,
      unit);
  if (report.workers.size() > 1)
    text += "\n" + worker_table(report.workers, unit);
  if (const std::string sent = travel_text(report.travels); !sent.empty())
    text += fmt::format("\n{}", sent);
  for (const BucketChoice& choice : report.buckets)
    text += fmt::format("\n{}", to_text(choice));
  if (report.accuracy)
    text += fmt::format("\ntest accuracy: {:.2f} %", 100 * *report.accuracy);
  if (report.comparison)
    text += "\n" + comparison_text(*report.comparison, all, unit);
  if (!report.checkpoint.empty())
    text += fmt::format("\ncheckpoint: {}.safetensors", report.checkpoint);
  if (!report.summary.empty())
    text += fmt::format("\nsummary: {}", report.summary);
  if (!report.trace.empty()) text += fmt::format("\ntrace: {}", report.trace);
  return text;
}

}  // namespace rondo
