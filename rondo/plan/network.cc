#include "rondo/plan/network.h"

#include <algorithm>

namespace rondo {
namespace {

// Which host gets one of `all` that are spread over hosts in order.
int even_place(int number, int all, int hosts) {
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
  if (!workers_until.empty() &&
      (static_cast<int>(workers_until.size()) != hosts ||
       workers_until.back() != workers || least_on_a_host() < 1))
    return error(Code::kInvalidArgument,
                 "the workers of the hosts do not add up: there are {} on {} "
                 "hosts, one at least on each",
                 workers, hosts);
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

int Network::host_of(int worker) const {
  if (workers_until.empty()) return even_place(worker, workers, hosts);
  return static_cast<int>(std::ranges::upper_bound(workers_until, worker) -
                          workers_until.begin());
}

int Network::host_of_server(int server, int servers) const {
  return even_place(server, servers, hosts);
}

int Network::workers_on(int host) const {
  return workers_before(host + 1) - workers_before(host);
}

int Network::workers_before(int host) const {
  if (!workers_until.empty())
    return host == 0 ? 0 : workers_until[static_cast<size_t>(host) - 1];
  return host * (workers / hosts) + std::min(host, workers % hosts);
}

int Network::most_on_a_host() const {
  if (workers_until.empty()) return workers_on(0);
  int most = 0;
  for (int host = 0; host < hosts; ++host)
    most = std::max(most, workers_on(host));
  return most;
}

int Network::least_on_a_host() const {
  if (workers_until.empty()) return workers / hosts;
  int least = workers;
  for (int host = 0; host < hosts; ++host)
    least = std::min(least, workers_on(host));
  return least;
}

void Network::spread(int new_workers, int new_hosts) {
  workers = new_workers;
  hosts = new_hosts;
  workers_until.clear();
}

void Network::place(const std::vector<int>& on_hosts) {
  spread(0, static_cast<int>(on_hosts.size()));
  for (const int here : on_hosts) workers_until.push_back(workers += here);
}

int Network::rack_of(int host) const {
  if (host >= hosts) return (host - hosts) % racks;
  return static_cast<int>(static_cast<int64_t>(host) * racks / hosts);
}

}  // namespace rondo
