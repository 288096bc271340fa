#include "rondo/trainer/waiting_share.h"

#include <algorithm>
#include <string_view>

namespace rondo {
namespace {

// Operations that wait for other processes.
constexpr std::string_view kExchanges[] = {"AllReduce",     "AllGather",
                                           "AllGatherRows", "Broadcast",
                                           "PushPull",      "PushPullRows"};

bool exchanges(const Timeline::Event& event) {
  return std::ranges::find(kExchanges, event.op) != std::end(kExchanges);
}

// Where an interval of a kind begins (+1) or ends (-1).
struct Edge {
  double time;
  int exchanges;
  int computes;
};

}  // namespace

double waiting_share(const std::vector<Timeline::Event>& events) {
  std::vector<Edge> edges;
  for (const Timeline::Event& event : events) {
    const int exchange = exchanges(event) ? 1 : 0;
    edges.push_back({event.start_us, exchange, 1 - exchange});
    edges.push_back({event.start_us + event.us, -exchange, exchange - 1});
  }
  if (edges.empty()) return 0;
  std::ranges::sort(edges, {}, &Edge::time);
  double waiting = 0;
  int exchanging = 0;
  int computing = 0;
  double before = edges.front().time;
  for (const Edge& edge : edges) {
    if (exchanging > 0 && computing == 0) waiting += edge.time - before;
    exchanging += edge.exchanges;
    computing += edge.computes;
    before = edge.time;
  }
  const double whole = edges.back().time - edges.front().time;
  return whole > 0 ? waiting / whole : 0;
}

}  // namespace rondo
