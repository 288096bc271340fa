// The workload of a plan, from its options.
#include <algorithm>
#include <filesystem>

#include "rondo/base/cores.h"
#include "rondo/base/units.h"
#include "rondo/graph/graph_io.h"
#include "rondo/planner/graph_workload.h"
#include "rondo/planner/model_workload.h"
#include "rondo/planner/plan_options.h"
#include "rondo/planner/planned_device.h"
#include "rondo/planner/step_profile.h"
#include "rondo/train/buckets.h"
#include "rondo/trainer/model.h"

namespace rondo {
namespace {

// Beyond these nobody computes, and sums would come to be infinite.
constexpr double kMostParameters = 1e15;
constexpr double kLeastFlops = 1e6, kMostFlops = 1e21;

// Of a worker; the workers of a host share its own.
Result<double> cores_of(const PlanOptions& options) {
  if (options.cores > 0) return static_cast<double>(options.cores);
  // Racks say nothing here, and of how many hosts may not be known yet.
  PlanOptions on_hosts = options;
  on_hosts.racks = 1;
  on_hosts.uplink.clear();
  RONDO_ASSIGN_OR_RETURN(const Network network, network_of(on_hosts));
  const double all = options.cores_per_host > 0
                         ? static_cast<double>(options.cores_per_host)
                         : available_cores();
  return std::max(1.0, all / network.most_on_a_host());
}

// Bytes a second follow operations a second as on a common core.
Result<DeviceRates> rates_of(const PlanOptions& options) {
  if (options.on_gpus()) {
    RONDO_ASSIGN_OR_RETURN(const auto device, find_device(options.device));
    return device.rates(options.precision == "bf16");
  }
  DeviceRates rates;
  double scale = 1;
  if (options.flops.empty()) {
    RONDO_ASSIGN_OR_RETURN(scale, cores_of(options));
  } else {
    RONDO_ASSIGN_OR_RETURN(const double flops,
                           named("--flops", parse_number(options.flops)));
    if (flops < kLeastFlops || flops > kMostFlops)
      return error(Code::kInvalidArgument,
                   "--flops {}: give from 1M to 1e21 operations a second",
                   options.flops);
    scale = flops / rates.flops_per_s;
  }
  rates.flops_per_s *= scale;
  rates.bytes_per_s *= scale;
  return rates;
}

Status no_graph(std::string_view why) {
  return error(Code::kInvalidArgument,
               "{}; a graph with its updates is what "
               "rd.train.export_meta_graph(FILE) writes behind minimize()",
               why);
}

Result<TrainingStep> step_of(const PlanOptions& options) {
  if (options.is_model()) return model_step(options.model, options.optimizer);
  const std::string& file = options.model;
  if (!std::filesystem::exists(file))
    return error(Code::kInvalidArgument,
                 "\"{}\" is neither a model nor a file with a graph; models "
                 "are {}",
                 file, model_names());
  if (std::filesystem::is_directory(file))
    return no_graph(fmt::format("{} is a folder, not a graph", file));
  try {
    return find_step(load_graph(file), file);
  } catch (const Error& e) {
    return no_graph(e.what());
  }
}

Result<double> given_time(const PlanOptions& options) {
  auto seconds = named("--step-time", parse_seconds(options.step_time));
  if (!seconds.ok())
    return error(Code::kInvalidArgument, "{}, or measure or estimate",
                 seconds.status().message());
  if (*seconds > 0) return seconds;
  return error(Code::kInvalidArgument,
               "--step-time {}: a step takes more than zero seconds",
               options.step_time);
}

Result<Workload> sized_workload(const PlanOptions& options) {
  RONDO_ASSIGN_OR_RETURN(
      const double parameters,
      named("--params", parse_count(options.params, kMostParameters)));
  if (options.step_time == "estimate")
    return error(Code::kInvalidArgument,
                 "--params says nothing about the time of a step; give it, "
                 "such as --step-time 0.55");
  if (options.measures_step())
    return error(Code::kInvalidArgument,
                 "--step-time measure needs something to run, a model ({}) or "
                 "a graph; otherwise give the time, such as --step-time 0.55",
                 model_names());
  Workload workload = uniform_workload(
      parameters, {.first = BucketOptions().first_bytes,
                   .later = [](int ranks) { return bucket_bytes({}, ranks); }});
  workload.batch = static_cast<double>(options.batch);
  RONDO_ASSIGN_OR_RETURN(workload.step_seconds, given_time(options));
  workload.step_origin = "given";
  return workload;
}

// To run it here, with as many cores as a worker has.
Result<ProfileOptions> profile_options_of(const PlanOptions& options) {
  RONDO_ASSIGN_OR_RETURN(const double cores, cores_of(options));
  if (cores > available_cores())
    return error(Code::kInvalidArgument,
                 "--step-time measure: here are {} cores, and a worker would "
                 "have {:.6g}; plan where there are as many, or give the time, "
                 "such as --step-time 0.55",
                 available_cores(), cores);
  return ProfileOptions{.batch = options.batch,
                        .threads = static_cast<int>(cores),
                        .feeds = options.feeds};
}

// Who is faster than the estimate also multiplies faster.
Result<Workload> graph_workload(const PlanOptions& options,
                                const TrainingStep& step) {
  const auto batch = static_cast<double>(options.batch);
  RONDO_ASSIGN_OR_RETURN(DeviceRates rates, rates_of(options));
  // What nodes take besides their work is no computing, and does not say how
  // fast somebody is whose time is known.
  if (options.step_time != "estimate") rates.node_seconds = 0;
  StepProfile profile;
  // As training runs it, with open extents.
  if (options.measures_step()) {
    RONDO_ASSIGN_OR_RETURN(const auto how, profile_options_of(options));
    RONDO_ASSIGN_OR_RETURN(profile, profile_step(step, how));
  }
  const std::vector<bool> open = open_factors(step);
  settle_shapes(step, options.batch);
  const NodeTimes estimated = estimated_times(step, batch, rates);
  Workload workload = workload_of(
      step, batch, options.measures_step() ? profile.nodes : estimated, open);
  if (options.measures_step()) {
    workload.step_seconds = profile.seconds;
    workload.step_origin = "measured here";
    if (!options.is_model())
      workload.step_origin += fmt::format(", {}", profile.fed);
  } else if (options.step_time != "estimate") {
    RONDO_ASSIGN_OR_RETURN(workload.step_seconds, given_time(options));
    workload.step_origin = "given";
  } else {
    workload.step_origin = options.on_gpus()
                               ? fmt::format("estimated for {}", options.device)
                               : "estimated";
  }
  workload.name = options.model;
  workload.flop_rate =
      rates.flops_per_s * total_seconds(estimated) / workload.step_seconds;
  if (workload.bytes() == 0)
    return error(Code::kInvalidArgument,
                 "{}: the gradients have no elements, so there is nothing to "
                 "exchange; look at the shapes of its variables and inputs",
                 options.model);
  return workload;
}

Status check_model(const PlanOptions& options) {
  if (!options.model.empty() && !options.params.empty())
    return error(Code::kInvalidArgument,
                 "{} and --params {}: give a model or a number of parameters, "
                 "not both",
                 options.model, options.params);
  if (options.model.empty() && options.params.empty())
    return error(Code::kInvalidArgument,
                 "give a model ({}), a file with a graph, or --params N",
                 model_names());
  if (options.batch < 1 || options.batch > kMostBatch)
    return error(Code::kInvalidArgument,
                 "--batch {}: give a whole number from 1 to {}", options.batch,
                 kMostBatch);
  return check_optimizer(options.optimizer);
}

}  // namespace

Status check_workload(const PlanOptions& options) {
  RONDO_RETURN_IF_ERROR(check_model(options));
  if (!options.params.empty()) return sized_workload(options).status();
  RONDO_ASSIGN_OR_RETURN(const TrainingStep step, step_of(options));
  RONDO_RETURN_IF_ERROR(rates_of(options).status());
  if (options.step_time == "estimate") return {};
  if (!options.measures_step()) return given_time(options).status();
  RONDO_ASSIGN_OR_RETURN(const auto how, profile_options_of(options));
  return check_profile(step, how);
}

Result<Workload> workload_of(const PlanOptions& options) {
  RONDO_RETURN_IF_ERROR(check_model(options));
  if (!options.params.empty()) return sized_workload(options);
  RONDO_ASSIGN_OR_RETURN(const TrainingStep step, step_of(options));
  return graph_workload(options, step);
}

}  // namespace rondo
