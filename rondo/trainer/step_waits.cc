#include "rondo/trainer/step_waits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>

#include "rondo/train/exchange_names.h"

namespace rondo {
namespace {

// Where an event begins or ends.
struct Edge {
  double time = 0;
  bool begins = false;
  std::optional<size_t> exchange = {};  // none: it computes
};

// Exchanges that are under way, by when they began.
using UnderWay = std::set<std::pair<double, size_t>>;

}  // namespace

double StepWaits::share() const {
  if (step_us <= 0) return 0;
  double waiting = 0;
  for (const Exposed& wait : exposed) waiting += wait.end_us - wait.begin_us;
  return waiting / step_us;
}

StepWaits step_waits(const std::vector<Timeline::Event>& events) {
  if (events.empty()) return {};
  std::map<std::string, const Timeline::Event*> exchanges;
  for (const Timeline::Event& event : events)
    if (is_exchange(event.op)) exchanges.emplace(event.node, &event);
  StepWaits waits;
  std::vector<double> begins;
  std::vector<Edge> edges;
  const auto add = [&](const Timeline::Event& event,
                       std::optional<size_t> exchange) {
    edges.push_back({event.start_us, true, exchange});
    edges.push_back({event.start_us + event.us, false, exchange});
  };
  for (const auto& [name, event] : exchanges) {
    add(*event, begins.size());
    begins.push_back(event->start_us);
    waits.exchange_us.push_back(event->us);
  }
  for (const Timeline::Event& event : events)
    if (!is_exchange(event.op)) add(event, std::nullopt);

  std::ranges::sort(edges, {}, &Edge::time);
  UnderWay under_way;
  int computing = 0;
  double before = edges.front().time;
  for (const Edge& edge : edges) {
    if (!under_way.empty() && computing == 0 && edge.time > before) {
      const auto& [began, exchange] = *under_way.begin();
      waits.exposed.push_back({exchange, before - began, edge.time - began});
    }
    before = edge.time;
    if (!edge.exchange)
      computing += edge.begins ? 1 : -1;
    else if (edge.begins)
      under_way.emplace(begins[*edge.exchange], *edge.exchange);
    else
      under_way.erase({begins[*edge.exchange], *edge.exchange});
  }
  waits.step_us = edges.back().time - edges.front().time;
  return waits;
}

double WaitShares::for_others() const {
  return std::accumulate(for_worker.begin(), for_worker.end(), 0.0);
}

WaitShares divide_waits(std::span<const StepWaits> mine,
                        std::span<const double> all_us, int size) {
  WaitShares shares{.for_worker =
                        std::vector<double>(static_cast<size_t>(size))};
  const size_t each = all_us.size() / static_cast<size_t>(size);
  size_t first = 0;  // of the step's exchanges
  for (const StepWaits& step : mine) {
    const double part = 1 / (step.step_us * static_cast<double>(mine.size()));
    for (const StepWaits::Exposed& wait : step.exposed) {
      const size_t at = first + wait.exchange;
      size_t last = 0;  // the worker that came last
      for (size_t rank = 1; rank < shares.for_worker.size(); ++rank)
        if (all_us[rank * each + at] < all_us[last * each + at]) last = rank;
      const double came =
          step.exchange_us[wait.exchange] - all_us[last * each + at];
      const double until = std::clamp(came, wait.begin_us, wait.end_us);
      shares.for_worker[last] += (until - wait.begin_us) * part;
      shares.communication += (wait.end_us - until) * part;
    }
    first += step.exchange_us.size();
  }
  return shares;
}

}  // namespace rondo
