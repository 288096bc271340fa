#include "rondo/planner/plan_options.h"

#include <utility>

#include "rondo/base/units.h"
#include "rondo/planner/model_workload.h"
#include "rondo/planner/planned_device.h"
#include "rondo/trainer/model.h"

namespace rondo {
namespace {

// Beyond it nobody computes, and sums would come to be infinite.
constexpr double kMostExamples = 1e15;

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

// Of an epoch; 0 where nobody knows.
Result<double> examples_of(const PlanOptions& options) {
  if (!options.examples.empty()) {
    return named("--examples", parse_count(options.examples, kMostExamples,
                                           "60000 or 1.28M"));
  }
  if (options.is_model()) return usual_examples(options.model);
  if (options.price_per_hour > 0)
    return error(Code::kInvalidArgument,
                 "--price-per-hour is for an epoch; say how many examples that "
                 "has, such as --examples 60000");
  return 0.0;
}

}  // namespace

Result<double> named(std::string_view option, Result<double> value) {
  if (value.ok()) return value;
  return value.status().with_context(option);
}

bool PlanOptions::is_model() const { return find_model(model).ok(); }

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
  if (options.measures_step() && (options.on_gpus() || !options.flops.empty()))
    return error(Code::kInvalidArgument,
                 "--step-time measure runs a step on cores of this machine; "
                 "leave --device and --flops out, or --step-time");
  if (!options.feeds.empty() && !options.measures_step())
    return error(Code::kInvalidArgument,
                 "--feed says what a step is given that is run here; add "
                 "--step-time measure, or leave it out");
  if (!options.params.empty() && device_told(options))
    return error(Code::kInvalidArgument,
                 "--params says nothing about operations, so --device, --cores "
                 "and --flops do not help; give --step-time");
  return options.on_gpus() ? find_device(options.device).status() : Status();
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
