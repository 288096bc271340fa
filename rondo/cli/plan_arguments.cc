#include "rondo/cli/plan_arguments.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "rondo/cli/plan_check.h"
#include "rondo/planner/planner.h"

namespace rondo {
namespace {

// Whether all of the text is one number.
template <class T>
bool read(std::string_view text, T& number) {
  const char* end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  return !text.empty() && failed == std::errc() && rest == end;
}

// Empty: it is in range. Otherwise what to give, as CLI11 wants it.
template <class T>
CLI::Validator within(T least, T most, const char* what) {
  const auto check = [=](std::string& text) -> std::string {
    T number{};
    if (read(text, number) && number >= least && number <= most) {
      text = fmt::format("{}", number);  // CLI11 takes 010 for 8
      return {};
    }
    return fmt::format("give a {} from {} to {}, not \"{}\"", what, least, most,
                       text);
  };
  return {check, ""};
}

CLI::Validator not_empty() {
  const auto check = [](std::string& text) {
    return text.empty() ? "it is empty; give a value, or leave it out" : "";
  };
  return {check, ""};
}

// Adds options one after another.
class PlanOptionAdder {
 public:
  explicit PlanOptionAdder(CLI::App& command) : command_(command) {}

  CLI::Option* text(const char* name, std::string& value, const char* help,
                    const char* type) {
    return command_.add_option(name, value, help)
        ->type_name(type)
        ->check(not_empty())
        ->capture_default_str();
  }
  void texts(const char* name, std::vector<std::string>& values,
             const char* help, const char* type) {
    command_.add_option(name, values, help)
        ->type_name(type)
        ->type_size(1)
        ->allow_extra_args(false)
        ->check(not_empty());
  }
  // One that is not there, or zero, was not given.
  CLI::Option* whole(const char* name, auto& value, int64_t most,
                     const char* help) {
    CLI::Option* option =
        command_.add_option(name, value, help)
            ->type_name("N")
            ->transform(within<int64_t>(1, most, "whole number"));
    if (value > 0) option->capture_default_str();
    return option;
  }
  void real(const char* name, double& value, double least, double most,
            const char* help) {
    command_.add_option(name, value, help)
        ->type_name("N")
        ->check(within(least, most, "number"))
        ->capture_default_str();
  }

 private:
  CLI::App& command_;
};

void add_network_options(PlanOptionAdder& add, CLI::App& command,
                         PlanArguments& args) {
  PlanOptions& options = args.options;
  add.whole("-n,--workers", options.workers, kMostWorkers,
            "Workers; unless given one for each host, or 4");
  add.text("--hosts", args.hosts,
           "How many hosts they are on, or which: a number, or a:4,b:4; unless "
           "given, one for each",
           "HOSTS");
  add.text("--hostfile", args.hostfile, "The same, one host per line", "FILE");
  add.whole("--gpus-per-host", options.gpus_per_host, kMostWorkers,
            "A worker on each GPU of a host, instead of a number of hosts");
  add.text("--link", options.link,
           "Rate of a host's link, each way; unless given 10gbit", "RATE");
  add.text("--latency", options.latency,
           "Of a message between hosts, one way; unless given 50us", "TIME");
  CLI::Option* measure =
      command.add_flag("--measure", args.measure,
                       "Find out both between these hosts, or those of this "
                       "job");
  add.text("--interface", args.interface,
           "To measure by: names, networks, addresses, ^excluded", "SPEC")
      ->needs(measure);
  add.text("--ssh-command", args.ssh_command, "How to call ssh to measure",
           "COMMAND")
      ->needs(measure);
  add.text("--remote-rondo", args.remote_rondo,
           "Path of rondo on the other hosts", "PATH")
      ->needs(measure);
  add.whole("--racks", options.racks, kMostWorkers,
            "Racks that the hosts are in");
  add.text("--uplink", options.uplink, "Rate of a rack's link to the others",
           "RATE");
}

void add_worker_options(PlanOptionAdder& add, PlanOptions& options) {
  add.text("--step-time", options.step_time,
           "Of one worker alone: a time, measure (runs the model or graph "
           "here), or estimate (from operations' costs)",
           "TIME");
  add.texts("--feed", options.feeds,
            "What an input of the graph is to be while it is measured: a "
            "number for all of its elements; as often as needed",
            "NAME=N");
  add.text("--device", options.device,
           "What a worker computes on, for the estimate: cpu, t4, v100, a10, "
           "a100, l4, l40s, h100, h200",
           "NAME");
  add.text("--precision", options.precision,
           "Of a device's products, for the estimate: fp32 or bf16", "NAME");
  add.whole("--cores", options.cores, kMostCores,
            "Of a worker, for the estimate or while it is measured");
  add.whole("--cores-per-host", options.cores_per_host, kMostCores,
            "Of a host, which its workers share; unless given, those here");
  add.text("--flops", options.flops,
           "Operations a second of a worker, instead of a device", "N");
  add.real("--straggler", options.straggler, 1, kMostStraggler,
           "One worker takes so many times as long");
  add.real(
      "--jitter", options.jitter, 0, kMostJitter,
      "Workers take longer by this share of a step, times the absolute value "
      "of a normal deviate");
}

// "4x", "+4", "4.5": neither a number of hosts nor, likely, a name. Addresses
// begin with a digit too, and so may one of several names.
bool like_a_number(std::string_view text) {
  const bool begins =
      !text.empty() && std::strchr("0123456789+-.", text.front()) != nullptr;
  const auto points = std::count(text.begin(), text.end(), '.');
  return begins && text.find_first_of(":,") == std::string_view::npos &&
         points < 3;
}

Status check_names(const std::vector<Host>& hosts) {
  double number = 0;
  for (const Host& host : hosts)
    if (read(host.name, number))
      return error(Code::kInvalidArgument,
                   "--hosts: {} is a number, not the name of a host; give one "
                   "number, or names, such as a:4,b:4",
                   host.name);
  return {};
}

Status check_output(std::string_view option, const std::string& file) {
  if (file.empty()) return {};
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(file).has_parent_path()
                              ? fs::path(file).parent_path()
                              : fs::path(".");
  std::error_code ignored;
  if (fs::is_directory(file, ignored))
    return error(Code::kInvalidArgument,
                 "{} {}: this is a folder; give a file in it", option, file);
  const bool there = fs::exists(file, ignored);
  if (access(there ? file.c_str() : folder.c_str(), W_OK) == 0) return {};
  return error(Code::kInvalidArgument,
               "{} {}: cannot be written, {}; check the folder and its rights",
               option, file, std::strerror(errno));
}

}  // namespace

void add_plan_options(CLI::App& command, PlanArguments& args) {
  PlanOptions& options = args.options;
  PlanOptionAdder add(command);
  add.text("model", options.model,
           "mlp, lenet, vgg16, resnet50, lstm, gpt, or a file with a graph",
           "MODEL|GRAPH");
  add.text("--params", options.params,
           "Instead of a model: how many parameters", "N");
  add.whole("--batch", options.batch, kMostBatch,
            "Examples of a worker in a step");
  add.text("--optimizer", options.optimizer, "sgd, momentum or adam", "NAME");
  add_network_options(add, command, args);
  add_worker_options(add, options);
  add.real("--price-per-hour", options.price_per_hour, 0, kMostPrice,
           "Of a machine");
  add.text("--examples", options.examples, "Of an epoch, for its price", "N");
  CLI::Option* check = command.add_flag(
      "--check", options.check,
      "Also try the recommended and two other methods in a lab on this "
      "machine; needs root");
  add.text("--methods", options.check_methods,
           "With --check: these instead, such as 'ring; ps 2'", "NAMES");
  add.whole("--rounds", options.check_rounds, kMostCheckRounds,
            "With --check: of each measurement; unless given, as many as fit "
            "into six seconds")
      ->needs(check);
  command.add_option("--replay", options.replay)->group("");
  add.text("--json", options.json, "Also write all of it to this file", "FILE");
  add.text("--page", options.page, "Also write a page with plots", "FILE");
}

Result<std::vector<Host>> named_hosts(PlanArguments& args) {
  const std::string& text = args.hosts;
  if (!text.empty() && !args.hostfile.empty())
    return error(Code::kInvalidArgument,
                 "--hosts and --hostfile both say where workers are; give one");
  if (!args.hostfile.empty()) return read_hostfile(args.hostfile);
  if (text.empty()) return std::vector<Host>{};
  int64_t& number = args.options.hosts;
  if (read(text, number) && number >= 1 && number <= kMostWorkers)
    return std::vector<Host>{};
  number = 0;
  if (like_a_number(text))
    return error(Code::kInvalidArgument,
                 "--hosts {}: give a whole number from 1 to {}, or names, such "
                 "as a:4,b:4",
                 text, kMostWorkers);
  auto hosts = parse_hosts(text);
  if (!hosts.ok())
    return hosts.status().with_context(
        "--hosts takes a number, or hosts as rondo run does");
  RONDO_RETURN_IF_ERROR(check_names(*hosts));
  return hosts;
}

Status check_outputs(const PlanOptions& options) {
  RONDO_RETURN_IF_ERROR(check_output("--json", options.json));
  RONDO_RETURN_IF_ERROR(check_output("--page", options.page));
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (options.json.empty() || options.page.empty() ||
      fs::weakly_canonical(options.json, ignored) !=
          fs::weakly_canonical(options.page, ignored))
    return {};
  return error(Code::kInvalidArgument,
               "--json and --page are the same file, {}; give two",
               options.json);
}

Status check_methods(const PlanOptions& options, const Network& network) {
  if (options.check_methods.empty()) return {};
  // With --json, bench/plan predicts what it has measured before.
  if (!options.check && options.json.empty())
    return error(Code::kInvalidArgument,
                 "--methods says what --check tries; add --check");
  RONDO_ASSIGN_OR_RETURN(const auto methods,
                         methods_named(options.check_methods));
  for (const Method& method : methods) {
    if (method.beside && method.spare > network.workers)
      return error(Code::kInvalidArgument,
                   "--methods \"{}\": there are {} workers; give as many "
                   "servers at most",
                   method.name(), network.workers);
    if (method.spare_machines() > kMostHostsOfALab - network.hosts)
      return error(Code::kInvalidArgument,
                   "--methods \"{}\": a lab has {} hosts at most, servers "
                   "included, and {} have workers",
                   method.name(), kMostHostsOfALab, network.hosts);
    if (method.kind == MethodKind::kDirect && network.hosts > 1)
      return error(Code::kInvalidArgument,
                   "--methods \"direct\" is for workers of one host, and here "
                   "are {} hosts; try hierarchical",
                   network.hosts);
  }
  return {};
}

}  // namespace rondo
