// The network of a plan, from its options.
#include <algorithm>

#include "rondo/base/units.h"
#include "rondo/planner/plan_options.h"
#include "rondo/planner/planned_device.h"

namespace rondo {
namespace {

constexpr int64_t kUsualWorkers = 4;
constexpr std::string_view kUsualLink = "10gbit";
constexpr std::string_view kUsualLatency = "50us";
constexpr double kMostLatency = 60;
// Of a message between GPUs of a host: a kernel has to be started for it.
constexpr double kGpuLatency = 10e-6;

Status check_range(std::string_view option, int64_t number, int64_t most) {
  if (number >= 1 && number <= most) return {};
  return error(Code::kInvalidArgument,
               "{} {}: give a whole number from 1 to {}", option, number, most);
}

// Unless it is given, one on each host, or on each of its GPUs; without hosts
// a few, which fill them.
int64_t workers_of(const PlanOptions& options) {
  if (options.workers) return *options.workers;
  const int64_t each =
      std::clamp<int64_t>(options.gpus_per_host, 1, kMostWorkers);
  const int64_t few = (kUsualWorkers + each - 1) / each;
  return each * (options.hosts > 0 ? options.hosts : few);
}

Status check_gpus(const PlanOptions& options, int64_t workers) {
  const int64_t each = options.gpus_per_host;
  RONDO_RETURN_IF_ERROR(check_range("--gpus-per-host", each, kMostWorkers));
  if (workers % each != 0)
    return error(Code::kInvalidArgument,
                 "--gpus-per-host {}: {} workers, one on each GPU, do not fill "
                 "hosts of so many; give --workers, a multiple of {}",
                 each, workers, each);
  const bool others = std::ranges::any_of(
      options.on_hosts, [&](int here) { return here != each; });
  if (others || (options.hosts > 0 && options.hosts != workers / each))
    return error(Code::kInvalidArgument,
                 "--gpus-per-host {} --hosts {}: {} workers are then on {} "
                 "hosts, {} on each; leave one of them out",
                 each, options.hosts, workers, workers / each, each);
  return {};
}

// How many workers on how many hosts in how many racks.
Status set_numbers(const PlanOptions& options, Network& network) {
  if (options.hosts != 0)
    RONDO_RETURN_IF_ERROR(check_range("--hosts", options.hosts, kMostWorkers));
  const int64_t workers = workers_of(options);
  RONDO_RETURN_IF_ERROR(check_range("--workers", workers, kMostWorkers));
  int64_t hosts = options.hosts > 0 ? options.hosts : workers;
  if (options.gpus_per_host != 0) {
    RONDO_RETURN_IF_ERROR(check_gpus(options, workers));
    hosts = workers / options.gpus_per_host;
  }
  if (hosts > workers)
    return error(Code::kInvalidArgument,
                 "--hosts {}: there are {} workers, and a host has one at "
                 "least; give 1 to {} hosts, or more --workers",
                 hosts, workers, workers);
  if (options.racks < 1 || options.racks > hosts)
    return error(Code::kInvalidArgument,
                 "--racks {}: there are {} hosts, and a rack has one at least; "
                 "give 1 to {}",
                 options.racks, hosts, hosts);
  network.spread(static_cast<int>(workers), static_cast<int>(hosts));
  network.racks = static_cast<int>(options.racks);
  if (!options.on_hosts.empty()) network.place(options.on_hosts);
  return {};
}

Status set_latency(const PlanOptions& options, Network& network) {
  const auto latency =
      parse_seconds(options.latency.empty() ? kUsualLatency : options.latency);
  if (!latency.ok()) return latency.status().with_context("--latency");
  if (*latency > kMostLatency)
    return error(Code::kInvalidArgument,
                 "--latency {}: a message takes {} s at most", options.latency,
                 kMostLatency);
  network.latency = *latency;
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
  const auto link =
      parse_rate(options.link.empty() ? kUsualLink : options.link);
  if (!link.ok()) return link.status().with_context("--link");
  network.link = *link;
  network.payload = kEthernetPayload;
  return set_latency(options, network);
}

Status set_uplink(const PlanOptions& options, Network& network) {
  if (options.uplink.empty()) return {};
  const auto uplink = parse_rate(options.uplink);
  if (!uplink.ok()) return uplink.status().with_context("--uplink");
  network.uplink = options.measured ? *uplink * kEthernetPayload : *uplink;
  if (network.racks > 1) return {};
  return error(Code::kInvalidArgument,
               "--uplink joins racks; say how many, such as --racks 2");
}

// GPUs of a host reduce a vector over the links between them, each sending
// 2D(g-1)/g bytes, where workers on cores go through the host's memory, which
// takes gD/2M. M is what makes these the same.
Status set_local_links(const PlanOptions& options, Network& network) {
  const double each = network.most_on_a_host();
  if (!options.on_gpus() || each < 2) return {};
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
  RONDO_RETURN_IF_ERROR(set_uplink(options, network));
  RONDO_RETURN_IF_ERROR(network.check());
  return network;
}

}  // namespace rondo
