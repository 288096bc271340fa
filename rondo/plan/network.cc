#include "rondo/plan/network.h"

#include <algorithm>

namespace rondo {
namespace {

// Which host gets one of `all` that are spread over hosts in order.
int place(int number, int all, int hosts) {
  // The first `more` hosts have one more.
  const int each = all / hosts;
  const int more = all % hosts;
  const int in_larger = more * (each + 1);
  return number < in_larger ? number / (each + 1)
                            : more + (number - in_larger) / each;
}

}  // namespace

Status Network::check() const {
  if (workers < 1 || workers > kMostWorkers)
    return error(Code::kInvalidArgument, "{} workers: there are 1 to {}",
                 workers, kMostWorkers);
  if (hosts < 1 || hosts > workers)
    return error(
        Code::kInvalidArgument,
        "{} hosts for {} workers: give each host one worker at least, so 1 to "
        "{} hosts",
        hosts, workers, workers);
  if (!(link > 0))
    return error(Code::kInvalidArgument,
                 "the rate of a link has to be more than zero");
  if (latency < 0)
    return error(Code::kInvalidArgument, "a latency is not negative");
  if (!(payload > 0 && payload <= 1))
    return error(Code::kInvalidArgument,
                 "the share of a link that messages get is more than 0 and at "
                 "most 1");
  if (racks < 1 || racks > hosts)
    return error(Code::kInvalidArgument,
                 "{} racks for {} hosts: there are 1 to {}", racks, hosts,
                 hosts);
  if (uplink < 0)
    return error(Code::kInvalidArgument,
                 "the rate of an uplink is not negative");
  return {};
}

Network Network::for_messages() const {
  Network net = *this;
  net.link *= payload;
  net.uplink *= payload;
  net.payload = 1;
  return net;
}

double Network::hybrid_unanswered() const {
  constexpr int kAtServer = 12;  // parts of all workers
  return hybrid_part * std::max(2, (kAtServer + workers - 1) / workers);
}

int Network::host_of(int worker) const { return place(worker, workers, hosts); }

int Network::host_of_server(int server, int servers) const {
  return place(server, servers, hosts);
}

int Network::workers_on(int host) const {
  return workers / hosts + (host < workers % hosts ? 1 : 0);
}

int Network::most_on_a_host() const { return workers_on(0); }

int Network::rack_of(int host) const {
  if (host >= hosts) return (host - hosts) % racks;
  return static_cast<int>(static_cast<int64_t>(host) * racks / hosts);
}

}  // namespace rondo
