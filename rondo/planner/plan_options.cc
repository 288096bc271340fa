#include "rondo/planner/plan_options.h"

#include <cmath>
#include <filesystem>

#include "rondo/base/cores.h"
#include "rondo/graph/graph_io.h"
#include "rondo/plan/units.h"
#include "rondo/planner/model_workload.h"
#include "rondo/planner/planned_device.h"
#include "rondo/train/buckets.h"
#include "rondo/trainer/model.h"

namespace rondo {
namespace {

constexpr int64_t kUsualWorkers = 4;
constexpr std::string_view kUsualLink = "10gbit";
constexpr std::string_view kUsualLatency = "50us";
// Of a message between GPUs of a host: a kernel has to be started for it.
constexpr double kGpuLatency = 10e-6;

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

// Whether workers compute on GPUs, of which the table has figures.
bool on_gpus(const PlanOptions& options) {
  return !options.device.empty() && options.device != "cpu";
}

Status check_device(const PlanOptions& options) {
  if (options.precision != "fp32" && options.precision != "bf16")
    return error(Code::kInvalidArgument,
                 "--precision {}: products are computed in fp32 or bf16",
                 options.precision);
  if (options.cores < 0)
    return error(Code::kInvalidArgument,
                 "--cores {}: a worker has one core at least", options.cores);
  if (!options.flops.empty() && (!options.device.empty() || options.cores > 0))
    return error(Code::kInvalidArgument,
                 "--flops and {} both say how fast a worker is; give one",
                 options.device.empty() ? "--cores" : "--device");
  if (on_gpus(options) && options.cores > 0)
    return error(Code::kInvalidArgument,
                 "--cores are those of --device cpu; leave one of them out");
  if (!on_gpus(options) && options.precision != "fp32")
    return error(Code::kInvalidArgument,
                 "--precision {}: say of which --device, one of {}",
                 options.precision, device_names());
  const bool told =
      !options.device.empty() || !options.flops.empty() || options.cores > 0;
  if (told && options.step_time == "measure")
    return error(Code::kInvalidArgument,
                 "--step-time measure trains here, on all cores; leave "
                 "--device, --cores and --flops out, or --step-time");
  if (!options.params.empty() && told)
    return error(Code::kInvalidArgument,
                 "--params says nothing about operations, so --device, --cores "
                 "and --flops do not help; give --step-time");
  return on_gpus(options) ? find_device(options.device).status() : Status();
}

// Bytes a second follow operations a second as on a common core.
Result<DeviceRates> rates_of(const PlanOptions& options) {
  if (on_gpus(options)) {
    RONDO_ASSIGN_OR_RETURN(const auto device, find_device(options.device));
    return device.rates(options.precision == "bf16");
  }
  DeviceRates rates;
  double scale = options.cores > 0 ? static_cast<double>(options.cores)
                                   : available_cores();
  if (!options.flops.empty()) {
    RONDO_ASSIGN_OR_RETURN(const double flops,
                           named("--flops", parse_number(options.flops)));
    scale = flops / rates.flops_per_s;
  }
  rates.flops_per_s *= scale;
  rates.bytes_per_s *= scale;
  return rates;
}

Result<TrainingStep> step_of(const PlanOptions& options) {
  if (is_model(options)) return model_step(planned_model(options));
  if (!std::filesystem::exists(options.model))
    return error(Code::kInvalidArgument,
                 "\"{}\" is neither a model nor a file with a graph; models "
                 "are {}",
                 options.model, model_names());
  try {
    return find_step(load_graph(options.model), options.model);
  } catch (const Error& e) {
    return Status(e.code(), e.what()).with_context(options.model);
  }
}

Result<Workload> without_time(const PlanOptions& options) {
  if (!options.params.empty()) {
    RONDO_ASSIGN_OR_RETURN(const double parameters,
                           named("--params", parse_number(options.params)));
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
  if (on_gpus(options))
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

// How many workers on how many hosts.
Status set_numbers(const PlanOptions& options, Network& network) {
  const auto in_range = [](int64_t number) {
    return number >= 0 && number <= kMostWorkers;
  };
  const int64_t workers = options.workers.value_or(kUsualWorkers);
  if (workers < 1 || !in_range(workers))
    return error(Code::kInvalidArgument,
                 "--workers {}: there are 1 to {} workers", workers,
                 kMostWorkers);
  if (!in_range(options.hosts) || !in_range(options.racks))
    return error(Code::kInvalidArgument,
                 "--hosts {} --racks {}: there are 1 to {} of them",
                 options.hosts, options.racks, workers);
  network.workers = static_cast<int>(workers);
  network.racks = static_cast<int>(options.racks);
  network.hosts =
      options.hosts > 0 ? static_cast<int>(options.hosts) : network.workers;
  if (!options.on_hosts.empty()) network.place(options.on_hosts);
  const int64_t each = options.gpus_per_host;
  if (each == 0) return {};
  if (each < 0 || workers % each != 0)
    return error(Code::kInvalidArgument,
                 "--gpus-per-host {}: {} workers, one on each GPU, do not fill "
                 "hosts of so many; give numbers of which one divides the "
                 "other",
                 each, workers);
  if (options.hosts > 0 && options.hosts != workers / each)
    return error(Code::kInvalidArgument,
                 "--gpus-per-host {} --hosts {}: {} workers are then on {} "
                 "hosts; leave one of them out",
                 each, options.hosts, workers, workers / each);
  network.hosts = static_cast<int>(workers / each);
  return {};
}

Status set_links(const PlanOptions& options, Network& network) {
  if (options.measured) {
    // What programs get.
    network.link = options.measured->link();
    network.latency = options.measured->latency();
    network.payload = 1;
    return {};
  }
  RONDO_ASSIGN_OR_RETURN(
      network.link,
      named("--link",
            parse_rate(options.link.empty() ? kUsualLink : options.link)));
  RONDO_ASSIGN_OR_RETURN(
      network.latency,
      named("--latency",
            parse_seconds(options.latency.empty() ? kUsualLatency
                                                  : options.latency)));
  network.payload = kEthernetPayload;
  return {};
}

// GPUs of a host reduce a vector over the links between them, each sending
// 2D(g-1)/g bytes, where workers on cores go through the host's memory, which
// takes gD/2M. M is what makes these the same.
Status set_local_links(const PlanOptions& options, Network& network) {
  const double each = network.most_on_a_host();
  if (!on_gpus(options) || each < 2) return {};
  RONDO_ASSIGN_OR_RETURN(const auto device, find_device(options.device));
  network.local_rate = device.sustained_link();
  network.local_latency = kGpuLatency;
  network.memory_rate = each * each * network.local_rate / (4 * (each - 1));
  return {};
}

}  // namespace

Result<Network> network_of(const PlanOptions& options) {
  RONDO_RETURN_IF_ERROR(check_device(options));
  Network network;
  RONDO_RETURN_IF_ERROR(set_numbers(options, network));
  RONDO_RETURN_IF_ERROR(set_links(options, network));
  RONDO_RETURN_IF_ERROR(set_local_links(options, network));
  if (!options.uplink.empty()) {
    RONDO_ASSIGN_OR_RETURN(network.uplink,
                           named("--uplink", parse_rate(options.uplink)));
    if (options.measured) network.uplink *= kEthernetPayload;
    if (network.racks < 2)
      return error(Code::kInvalidArgument,
                   "--uplink joins racks; say how many, such as --racks 2");
  }
  RONDO_RETURN_IF_ERROR(network.check());
  return network;
}

Result<Workload> workload_of(const PlanOptions& options) {
  if (options.model.empty() == options.params.empty())
    return error(Code::kInvalidArgument,
                 "give a model ({}), a file with a graph, or --params N",
                 model_names());
  if (options.batch < 1)
    return error(Code::kInvalidArgument, "--batch {}: one example at least",
                 options.batch);
  RONDO_ASSIGN_OR_RETURN(Workload workload, without_time(options));
  RONDO_RETURN_IF_ERROR(set_time(options, workload));
  return workload;
}

Result<PredictOptions> predict_options_of(const PlanOptions& options) {
  PredictOptions made;
  made.step.stragglers.slowest = options.straggler;
  made.step.stragglers.jitter = options.jitter;
  made.price_per_hour = options.price_per_hour;
  if (!(options.straggler >= 1) || !std::isfinite(options.straggler))
    return error(Code::kInvalidArgument,
                 "--straggler {}: how many times as long the slowest worker "
                 "takes, 1 or more",
                 options.straggler);
  if (!(options.jitter >= 0 && options.jitter <= 10))
    return error(Code::kInvalidArgument,
                 "--jitter {}: a share of a step, such as 0.1", options.jitter);
  if (!(options.price_per_hour >= 0))
    return error(Code::kInvalidArgument,
                 "--price-per-hour {}: a price is not negative",
                 options.price_per_hour);
  made.epoch_examples = usual_examples(planned_model(options));
  if (!options.examples.empty()) {
    RONDO_ASSIGN_OR_RETURN(made.epoch_examples,
                           named("--examples", parse_number(options.examples)));
  }
  return made;
}

}  // namespace rondo
