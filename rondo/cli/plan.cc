// `rondo plan`: how efficient training would be, before anything is bought or
// started.
#include <cstdio>
#include <fstream>
#include <memory>

#include "rondo/cli/command.h"
#include "rondo/cli/plan_check.h"
#include "rondo/planner/planner.h"

namespace rondo {
namespace {

constexpr const char* kFooter =
    "rondo plan vgg16 --batch 32 --workers 4 --link 1gbit --step-time 0.55\n"
    "rondo plan --params 138.36M --workers 64 --hosts 8 --link 100gbit \\\n"
    "  --step-time 0.2 --price-per-hour 12 --page plan.html\n"
    "rondo plan run1/model.meta --workers 8 --link 10gbit --flops 10T\n"
    "\n"
    "Rates are like 100mbit or 1gbit, times like 50us or 0.55. The first "
    "three\n"
    "columns are closed forms, in which nothing hides; the others a "
    "simulation\n"
    "of buckets that leave while gradients are still computed. See planner.md.";

Status write(const std::string& option, const std::string& file,
             const std::string& text) {
  if (file.empty()) return {};
  std::ofstream out(file);
  out << text;
  out.flush();
  if (!out)
    return error(Code::kInvalidArgument,
                 "{} {}: cannot be written; check the folder and its rights",
                 option, file);
  return {};
}

Status plan(const PlanOptions& options) {
  if (!options.replay.empty()) return replay_file(options.replay);
  RONDO_ASSIGN_OR_RETURN(PlanReport report, make_plan(options));
  std::fputs(to_text(report).c_str(), stdout);
  if (options.check) {
    std::fflush(stdout);
    RONDO_ASSIGN_OR_RETURN(report.checked,
                           check_in_lab(report, options.check_methods));
    std::fputs(check_text(report.checked).c_str(), stdout);
  } else if (!options.check_methods.empty()) {
    // For bench/plan, which has measured them before.
    RONDO_ASSIGN_OR_RETURN(const auto methods,
                           methods_to_check(report, options.check_methods));
    RONDO_ASSIGN_OR_RETURN(report.checked, predict_lab(report, methods));
  }
  RONDO_RETURN_IF_ERROR(write("--json", options.json, to_json(report)));
  return write("--page", options.page, to_page(report));
}

void add_options(CLI::App& command, PlanOptions& options) {
  const auto text = [&](const char* name, std::string& value, const char* help,
                        const char* type) {
    command.add_option(name, value, help)
        ->type_name(type)
        ->capture_default_str();
  };
  const auto number = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)
        ->type_name("N")
        ->capture_default_str();
  };
  text("model", options.model,
       "mlp, lenet, vgg16, resnet50, lstm, gpt, or a file with a graph",
       "MODEL|GRAPH");
  text("--params", options.params, "Instead of a model: how many parameters",
       "N");
  number("--batch", options.batch, "Examples of a worker in a step");
  text("--optimizer", options.optimizer, "sgd, momentum or adam", "NAME");
  number("-n,--workers", options.workers, "Workers");
  number("--hosts", options.hosts, "Hosts that they are on; 0: one for each");
  text("--link", options.link, "Rate of a host's link, each way", "RATE");
  text("--latency", options.latency, "Of a message between hosts, one way",
       "TIME");
  number("--racks", options.racks, "Racks that the hosts are in");
  text("--uplink", options.uplink, "Rate of a rack's link to the others",
       "RATE");
  text("--step-time", options.step_time,
       "Of one worker alone: a time, measure (trains the model here), or "
       "estimate (from operations' costs)",
       "TIME");
  text("--flops", options.flops,
       "Operations a second of a worker, for the estimate", "N");
  number("--straggler", options.straggler,
         "One worker takes so many times as long");
  number("--jitter", options.jitter,
         "Deviation of the workers' times, as a share of a step");
  number("--price-per-hour", options.price_per_hour, "Of a machine");
  text("--examples", options.examples, "Of an epoch, for its price", "N");
  command.add_flag("--check", options.check,
                   "Also try the recommended and two other methods in a lab "
                   "on this machine; needs root");
  text("--methods", options.check_methods,
       "With --check: these instead, such as 'ring; ps 2'", "NAMES");
  command.add_option("--replay", options.replay)->group("");
  text("--json", options.json, "Also write all of it to this file", "FILE");
  text("--page", options.page, "Also write a page with plots", "FILE");
}

}  // namespace

void add_plan_command(CLI::App& app, CommandLine& line) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "Predict how efficient training on a network would be");
  command->footer(kFooter);
  add_options(*command, *options);
  command->callback([options, &line] {
    line.action = [options] {
      const Status status = plan(*options);
      if (status.ok()) return 0;
      std::fprintf(stderr, "rondo plan: %s\n", status.message().c_str());
      return status.code() == Code::kInvalidArgument ? kUsageError : 1;
    };
  });
}

}  // namespace rondo
