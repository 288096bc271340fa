#include "rondo/graph/placement/simulator.h"

#include <algorithm>

namespace rondo {
namespace {

// Far above any step, so that no step without memory is ever chosen.
constexpr double kOutOfMemory = 1e9;

// How much an earlier end of items that the step's end does not wait for
// counts.
constexpr double kGuide = 0.1;
// And what a tensor that is sent counts besides its time: two nodes.
constexpr double kSent = 4e-6;

size_t at(int i) { return static_cast<size_t>(i); }

}  // namespace

Simulator::Simulator(const PlacementProblem& problem)
    : problem_(problem),
      missing_(problem.items.size()),
      ready_(at(problem.devices)),
      idle_(at(problem.devices)),
      link_free_(problem.links.size()),
      sent_(at(problem.outs * problem.devices), -1),
      end_event_(problem.items.size(), -1) {
  schedule_.start.resize(problem.items.size());
  schedule_.end.resize(problem.items.size());
  schedule_.busy.resize(at(problem.devices));
  schedule_.links.resize(problem.links.size());
}

void Simulator::reset() {
  schedule_.seconds = schedule_.mean_end = 0;
  schedule_.tensors = 0;
  std::ranges::fill(schedule_.busy, 0);
  std::ranges::fill(schedule_.links, Schedule::LinkUse());
  std::ranges::fill(link_free_, 0);
  for (int d = 0; d < problem_.devices; ++d) {
    ready_[at(d)].clear();
    idle_[at(d)] = problem_.threads[at(d)];
  }
  events_.clear();
  running_.clear();
  next_order_ = 0;
  ++runs_;
}

bool Simulator::later(int a, int b) const {
  const double pa = problem_.items[at(a)].priority;
  const double pb = problem_.items[at(b)].priority;
  return pa != pb ? pa < pb : a > b;
}

void Simulator::post(double time, int item, int out, int device) {
  if (out < 0) end_event_[at(item)] = next_order_;
  events_.push_back({time, next_order_++, item, out, device});
  std::ranges::push_heap(events_, std::greater<>());
}

void Simulator::arrived(int item) {
  if (--missing_[at(item)] > 0) return;
  auto& ready = ready_[at(device_of(item))];
  ready.push_back(item);
  std::ranges::push_heap(ready, [&](int a, int b) { return later(a, b); });
}

void Simulator::start_ready(int device, double now) {
  auto& ready = ready_[at(device)];
  while (idle_[at(device)] > 0 && !ready.empty()) {
    std::ranges::pop_heap(ready, [&](int a, int b) { return later(a, b); });
    const int item = ready.back();
    ready.pop_back();
    --idle_[at(device)];
    const double seconds = problem_.items[at(item)].seconds[at(device)];
    schedule_.start[at(item)] = now;
    schedule_.end[at(item)] = now + seconds;
    schedule_.busy[at(device)] += seconds;
    post(now + seconds, item, -1, device);
    // What takes no time slows nobody.
    if (!problem_.contention.empty() && seconds > 0)
      running_.push_back({item, device, 1});
  }
}

// What is left of each item that runs takes as much longer as there are others.
void Simulator::set_pace(double now) {
  if (problem_.contention.empty()) return;
  const size_t others = running_.size() - (running_.empty() ? 0 : 1);
  const double slower =
      others == 0
          ? 1
          : problem_
                .contention[std::min(others, problem_.contention.size()) - 1];
  for (Running& running : running_) {
    if (running.slower == slower) continue;
    double& end = schedule_.end[at(running.item)];
    const double changed = now + (end - now) * slower / running.slower;
    schedule_.busy[at(running.device)] += changed - end;
    end = changed;
    running.slower = slower;
    post(end, running.item, -1, running.device);
  }
}

void Simulator::give(int item, int out, double now) {
  const PlacementProblem::Item& from = problem_.items[at(item)];
  const PlacementProblem::Out& what = from.outs[at(out)];
  const int here = device_of(item);
  for (const int user : what.users) {
    const int there = device_of(user);
    if (there == here || from.copied) {
      arrived(user);
      continue;
    }
    int& sent = sent_[at((from.first_out + out) * problem_.devices + there)];
    if (sent == runs_) continue;
    sent = runs_;
    const size_t number = at(here * problem_.devices + there);
    const DeviceLink& link = problem_.links[number];
    const double occupied = what.bytes / link.bytes_per_s;
    const double begins = std::max(now, link_free_[number]);
    link_free_[number] = begins + occupied;
    Schedule::LinkUse& use = schedule_.links[number];
    ++use.tensors;
    ++schedule_.tensors;
    use.bytes += what.bytes;
    use.busy += occupied;
    post(begins + occupied + link.latency, item, out, there);
  }
}

void Simulator::item_ended(int item, double now) {
  std::erase_if(running_, [&](const Running& r) { return r.item == item; });
  ++idle_[at(device_of(item))];
  schedule_.seconds = std::max(schedule_.seconds, now);
  schedule_.mean_end += now / static_cast<double>(problem_.items.size());
  for (size_t out = 0; out < problem_.items[at(item)].outs.size(); ++out)
    give(item, static_cast<int>(out), now);
}

const Schedule& Simulator::run(const Assignment& assignment) {
  assignment_ = &assignment;
  reset();
  for (size_t i = 0; i < problem_.items.size(); ++i)
    missing_[i] = static_cast<int>(problem_.items[i].inputs.size());
  for (size_t i = 0; i < problem_.items.size(); ++i) {
    if (missing_[i] > 0) continue;
    missing_[i] = 1;
    arrived(static_cast<int>(i));
  }
  for (int d = 0; d < problem_.devices; ++d) start_ready(d, 0);
  set_pace(0);
  while (!events_.empty()) {
    // All that happens at one time comes before what it makes ready starts, so
    // that priority decides.
    const double now = events_.front().time;
    while (!events_.empty() && events_.front().time == now) {
      std::ranges::pop_heap(events_, std::greater<>());
      const Event event = events_.back();
      events_.pop_back();
      if (event.out < 0) {
        // Unless its end has been put off, or comes earlier.
        if (event.order == end_event_[at(event.item)])
          item_ended(event.item, now);
        continue;
      }
      const auto& out = problem_.items[at(event.item)].outs[at(event.out)];
      for (const int user : out.users)
        if (device_of(user) == event.device) arrived(user);
    }
    for (int d = 0; d < problem_.devices; ++d) start_ready(d, now);
    set_pace(now);
  }
  return schedule_;
}

Simulator::Score Simulator::score(const Assignment& assignment) {
  double over = 0;
  std::vector<double> used(at(problem_.devices));
  for (size_t g = 0; g < problem_.groups.size(); ++g)
    used[at(assignment[g])] += problem_.groups[g].state_bytes;
  for (int d = 0; d < problem_.devices; ++d)
    if (const double memory = problem_.memory[at(d)]; memory > 0)
      over += std::max(0.0, used[at(d)] - memory) / memory;
  const Schedule& schedule = run(assignment);
  const double fine = over > 0 ? kOutOfMemory * (1 + over) : 0;
  return {fine + schedule.seconds, fine + schedule.seconds +
                                       kGuide * schedule.mean_end +
                                       kSent * schedule.tensors};
}

}  // namespace rondo
