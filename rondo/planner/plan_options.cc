#include "rondo/planner/plan_options.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "rondo/base/cores.h"
#include "rondo/graph/graph_io.h"
#include "rondo/plan/units.h"
#include "rondo/planner/model_workload.h"
#include "rondo/planner/planned_device.h"
#include "rondo/train/buckets.h"
#include "rondo/trainer/model.h"

namespace rondo {
namespace {

// Beyond these nobody computes, and sums would come to be infinite.
constexpr double kMostParameters = 1e15;
constexpr double kMostExamples = 1e15;
constexpr double kLeastFlops = 1e6, kMostFlops = 1e21;

// With the option's name in front of what is wrong.
Result<double> named(std::string_view option, Result<double> value) {
  if (value.ok()) return value;
  return value.status().with_context(option);
}

PlannedModel planned_model(const PlanOptions& options) {
  return {options.model, options.optimizer, options.batch};
}

bool is_model(const PlanOptions& options) {
  return find_model(options.model).ok();
}

// Whether the estimate is told what a worker computes on.
bool device_told(const PlanOptions& options) {
  return !options.device.empty() || !options.flops.empty() ||
         options.cores_told();
}

Status check_cores(const PlanOptions& options) {
  for (const auto& [option, cores] :
       {std::pair("--cores", options.cores),
        std::pair("--cores-per-host", options.cores_per_host)})
    if (cores < 0 || cores > kMostCores)
      return error(Code::kInvalidArgument,
                   "{} {}: give a whole number from 1 to {}", option, cores,
                   kMostCores);
  if (options.cores > 0 && options.cores_per_host > 0)
    return error(Code::kInvalidArgument,
                 "--cores are those of a worker and --cores-per-host those of "
                 "all workers of a host; give one");
  if (options.on_gpus() && options.cores_told())
    return error(Code::kInvalidArgument,
                 "--cores are those of --device cpu; leave one of them out");
  return {};
}

// Of a worker; the workers of a host share its own.
Result<double> cores_of(const PlanOptions& options) {
  if (options.cores > 0) return static_cast<double>(options.cores);
  RONDO_ASSIGN_OR_RETURN(const Network network, network_of(options));
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
  if (is_model(options)) return model_step(planned_model(options));
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

Result<Workload> without_time(const PlanOptions& options) {
  if (!options.params.empty()) {
    RONDO_ASSIGN_OR_RETURN(
        const double parameters,
        named("--params", parse_count(options.params, kMostParameters)));
    Workload workload = uniform_workload(
        parameters,
        {.first = BucketOptions().first_bytes,
         .later = [](int ranks) { return bucket_bytes({}, ranks); }});
    workload.batch = static_cast<double>(options.batch);
    return workload;
  }
  RONDO_ASSIGN_OR_RETURN(const DeviceRates rates, rates_of(options));
  RONDO_ASSIGN_OR_RETURN(const TrainingStep step, step_of(options));
  Workload workload =
      workload_of(step, static_cast<double>(options.batch), rates);
  workload.name = options.model;
  if (options.on_gpus())
    workload.step_origin = fmt::format("estimated for {}", options.device);
  return workload;
}

// An estimate is there already; who is faster than that also multiplies faster.
Status set_time(const PlanOptions& options, Workload& workload) {
  const bool sized = !options.params.empty();
  if (options.step_time == "estimate") {
    if (!sized) return {};
    return error(Code::kInvalidArgument,
                 "--params says nothing about the time of a step; give it, "
                 "such as --step-time 0.55");
  }
  const double estimated = workload.step_seconds;
  if (options.step_time == "measure") {
    if (sized || !is_model(options))
      return error(Code::kInvalidArgument,
                   "--step-time measure needs a model that can be trained "
                   "here, one of {}; otherwise give the time, such as "
                   "--step-time 0.55",
                   model_names());
    RONDO_ASSIGN_OR_RETURN(workload.step_seconds,
                           measured_step(planned_model(options)));
    workload.step_origin = "measured here";
  } else {
    RONDO_ASSIGN_OR_RETURN(
        workload.step_seconds,
        named("--step-time", parse_seconds(options.step_time)));
    workload.step_origin = "given";
  }
  if (!(workload.step_seconds > 0))
    return error(Code::kInvalidArgument,
                 "--step-time {}: a step takes more than zero seconds",
                 options.step_time);
  if (!sized) workload.flop_rate *= estimated / workload.step_seconds;
  return {};
}

// Of an epoch; 0 where nobody knows.
Result<double> examples_of(const PlanOptions& options) {
  if (!options.examples.empty())
    return named("--examples", parse_count(options.examples, kMostExamples,
                                           "60000 or 1.28M"));
  if (is_model(options)) return usual_examples(planned_model(options));
  if (options.price_per_hour > 0)
    return error(Code::kInvalidArgument,
                 "--price-per-hour is for an epoch; say how many examples that "
                 "has, such as --examples 60000");
  return 0.0;
}

}  // namespace

bool PlanOptions::on_gpus() const { return !device.empty() && device != "cpu"; }

Status check_device(const PlanOptions& options) {
  if (options.precision != "fp32" && options.precision != "bf16")
    return error(Code::kInvalidArgument,
                 "--precision {}: products are computed in fp32 or bf16",
                 options.precision);
  RONDO_RETURN_IF_ERROR(check_cores(options));
  if (!options.flops.empty() &&
      (!options.device.empty() || options.cores_told()))
    return error(Code::kInvalidArgument,
                 "--flops and {} both say how fast a worker is; give one",
                 options.device.empty() ? "--cores" : "--device");
  if (!options.on_gpus() && options.precision != "fp32")
    return error(Code::kInvalidArgument,
                 "--precision {}: say of which --device, one of {}; of others "
                 "it is fp32",
                 options.precision, gpu_names());
  if (device_told(options) && options.step_time == "measure")
    return error(Code::kInvalidArgument,
                 "--step-time measure trains here, on all cores; leave "
                 "--device, --cores and --flops out, or --step-time");
  if (!options.params.empty() && device_told(options))
    return error(Code::kInvalidArgument,
                 "--params says nothing about operations, so --device, --cores "
                 "and --flops do not help; give --step-time");
  return options.on_gpus() ? find_device(options.device).status() : Status();
}

Result<Workload> workload_of(const PlanOptions& options) {
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
  RONDO_RETURN_IF_ERROR(check_optimizer(options.optimizer));
  RONDO_ASSIGN_OR_RETURN(Workload workload, without_time(options));
  RONDO_RETURN_IF_ERROR(set_time(options, workload));
  return workload;
}

Result<PredictOptions> predict_options_of(const PlanOptions& options) {
  PredictOptions made;
  made.step.stragglers.slowest = options.straggler;
  made.step.stragglers.jitter = options.jitter;
  made.price_per_hour = options.price_per_hour;
  if (!(options.straggler >= 1 && options.straggler <= kMostStraggler))
    return error(Code::kInvalidArgument,
                 "--straggler {}: how many times as long the slowest worker "
                 "takes, from 1 to {}",
                 options.straggler, kMostStraggler);
  if (!(options.jitter >= 0 && options.jitter <= kMostJitter))
    return error(Code::kInvalidArgument,
                 "--jitter {}: a share of a step from 0 to {}, such as 0.1",
                 options.jitter, kMostJitter);
  if (!(options.price_per_hour >= 0 && options.price_per_hour <= kMostPrice))
    return error(Code::kInvalidArgument,
                 "--price-per-hour {}: a price is from 0 to {}",
                 options.price_per_hour, kMostPrice);
  RONDO_ASSIGN_OR_RETURN(made.epoch_examples, examples_of(options));
  return made;
}

}  // namespace rondo
