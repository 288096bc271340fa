#include "rondo/plan/network_simulator_impl.h"

#include <algorithm>
#include <cmath>

namespace rondo {

NetworkSimulator::NetworkSimulator(
    const Network& network, std::span<const SimulatedOperation> operations,
    const NetworkSimulation& options)
    : network_(network),
      operations_(operations),
      options_(options),
      paths_(network, options_),
      links_(paths_.links()),
      ranks_(static_cast<size_t>(paths_.ranks())),
      at_fence_(static_cast<size_t>(network.hosts)),
      events_(links_.size() + ranks_.size()) {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    add_acts(rank);
  for (int i = 0; i < static_cast<int>(acts_.size()); ++i) join_channel(i);
  open_streams();
  if (options_.unanswered > 0) pair_channels();
}

Result<std::vector<std::vector<double>>> NetworkSimulator::run() {
  for (size_t op = 0; op < operations_.size(); ++op)
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      post(operations_[op].ready[rank], Event::Kind::kReady,
           static_cast<int>(op), static_cast<int>(rank),
           static_cast<int>(links_.size() + rank));
  for (size_t rank = 0; rank < ranks_.size(); ++rank)
    go_on(static_cast<int>(rank));
  while (!events_.empty()) {
    const Event event = events_.pop();
    now_ = event.time;
    handle(event);
  }
  for (size_t op = 0; op < operations_.size(); ++op)
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      if (left_[op][rank] > 0)
        return error(Code::kInternal,
                     "operation {} never ends on rank {} of the simulation", op,
                     rank);
  return ends_;
}

void NetworkSimulator::come_behind(const NetworkSimulator& other) {
  for (size_t i = 0; i < links_.size(); ++i)
    links_[i].free = other.links_[i].free - other.now_;
  for (size_t i = 0; i < streams_.size(); ++i) {
    const SimulatedStream& before = other.streams_[i];
    streams_[i].congestion_window = before.congestion_window;
    streams_[i].round_trip = before.round_trip;
    streams_[i].last_sent = before.last_sent - other.now_;
  }
}

void NetworkSimulator::add_acts(int rank) {
  Rank& state = ranks_[static_cast<size_t>(rank)];
  state.begin = static_cast<int>(acts_.size());
  const int count = static_cast<int>(operations_.size());
  int first = 0;
  for (; first < count && operations_[static_cast<size_t>(first)].holds;
       ++first) {
    add_plan(rank, first);
    acts_.push_back({.rank = rank, .operation = first});
  }
  // Before all other barriers: these are for those that wait for each other.
  for (int op = first; op < count; ++op)
    if (apart(op)) add_plan(rank, op);
  bool behind = false;
  for (int op = first; op < count; ++op) {
    if (apart(op)) continue;
    if (options_.in_order && behind)
      acts_.push_back({.rank = rank, .operation = op});
    add_plan(rank, op);
    behind = true;
  }
  state.end = static_cast<int>(acts_.size());
  state.limit = state.begin - 1;
}

void NetworkSimulator::add_plan(int rank, int op) {
  const auto& operation = operations_[static_cast<size_t>(op)];
  const Plan& plan = operation.plans[static_cast<size_t>(rank)];
  const int base = static_cast<int>(acts_.size());
  for (const Action& action : plan.actions) {
    const Range& range =
        action.kind == ActionKind::kSend ? action.src : action.dst;
    Act act{
        .action = &action,
        .kind = action.kind,
        .rank = rank,
        .operation = op,
        .bytes = static_cast<double>(range.count) * operation.element_bytes};
    act.blocks = std::max(1, static_cast<int>(std::ceil(act.bytes / piece())));
    if (is_message(act.kind)) act.grain = grain(act);
    if (is_barrier(act.kind)) act.blocks = 1;
    if (action.after >= 0) {
      act.after = base + action.after;
      Act& before = acts_[static_cast<size_t>(act.after)];
      act.next_dependent = before.first_dependent;
      before.first_dependent = static_cast<int>(acts_.size());
    }
    acts_.push_back(act);
  }
  left_.resize(operations_.size(), std::vector<int>(ranks_.size()));
  ends_.resize(operations_.size(), std::vector<double>(ranks_.size()));
  ready_.resize(operations_.size(), std::vector<bool>(ranks_.size()));
  left_[static_cast<size_t>(op)][static_cast<size_t>(rank)] =
      static_cast<int>(plan.actions.size());
}

int NetworkSimulator::grain(const Act& act) const {
  if (!serves(std::max(act.rank, act.action->peer))) return options_.pieces;
  if (operations_[static_cast<size_t>(act.operation)].whole) return act.blocks;
  return std::max(1, static_cast<int>(part() / piece()));
}

void NetworkSimulator::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kReady:
      ready_[static_cast<size_t>(event.a)][static_cast<size_t>(event.b)] = true;
      look_again(event.b);
      break;
    case Event::Kind::kLinkFree:
      links_[static_cast<size_t>(event.a)].busy = false;
      sent(event.b);
      serve(event.a);
      break;
    case Event::Kind::kLeft:
      has_left(event.b);
      advance(event.a, acts_[static_cast<size_t>(event.a)].done + 1);
      break;
    case Event::Kind::kHop: hop(event.a); break;
    case Event::Kind::kArrival: arrive(event.a, event.b); break;
    case Event::Kind::kAdded:
      acts_[static_cast<size_t>(event.a)].added = event.b;
      wake_dependents(acts_[static_cast<size_t>(event.a)]);
      break;
    case Event::Kind::kAcknowledged: acknowledged(event.a, event.b); break;
    case Event::Kind::kPassed: pass(event.a); break;
  }
}

bool NetworkSimulator::may_run(int i) const {
  const Act& act = acts_[static_cast<size_t>(i)];
  return i < ranks_[static_cast<size_t>(act.rank)].limit &&
         ready_[static_cast<size_t>(act.operation)]
               [static_cast<size_t>(act.rank)];
}

int NetworkSimulator::given(const Act& act) const {
  if (act.after < 0) return act.blocks;
  const Act& before = acts_[static_cast<size_t>(act.after)];
  return takes_time(before) ? before.added : before.whole();
}

// The last of a part: others are added while more of it comes.
bool NetworkSimulator::takes_time(const Act& act) const {
  return network_.server_rate > 0 && serves(act.rank) &&
         act.first_dependent >= 0 &&
         acts_[static_cast<size_t>(act.first_dependent)].kind ==
             ActionKind::kSend;
}

void NetworkSimulator::wake_dependents(const Act& act) {
  for (int d = act.first_dependent; d >= 0;
       d = acts_[static_cast<size_t>(d)].next_dependent)
    progress(d);
}

void NetworkSimulator::progress(int i) {
  if (!may_run(i)) return;
  Act& act = acts_[static_cast<size_t>(i)];
  if (act.kind == ActionKind::kSend) return offer_all(act.channel);
  int done = given(act);
  if (is_message(act.kind)) done = std::min(done, in_order(i));
  if (done > act.done) advance(i, done);
}

void NetworkSimulator::advance(int i, int done) {
  Act& act = acts_[static_cast<size_t>(i)];
  const int before = act.whole();
  act.done = done;
  const bool finished = done == act.blocks;
  if (!takes_time(act)) {
    wake_dependents(act);
  } else if (act.whole() > before) {
    act.free = std::max(act.free, now_) +
               (act.whole() - before) * piece() / network_.server_rate;
    post(act.free, Event::Kind::kAdded, i, act.whole());
  }
  if (!finished) return;
  count_end(act);
  if (apart(act.operation)) return;
  --ranks_[static_cast<size_t>(act.rank)].unfinished;
  go_on(act.rank);
}

void NetworkSimulator::count_end(const Act& act) {
  if (act.action == nullptr) return;
  const auto op = static_cast<size_t>(act.operation);
  const auto rank = static_cast<size_t>(act.rank);
  if (--left_[op][rank] == 0) ends_[op][rank] = now_;
}

void NetworkSimulator::look_again(int rank) {
  const Rank& state = ranks_[static_cast<size_t>(rank)];
  const int limit = state.limit;
  for (int i = state.begin; i < limit; ++i)
    if (acts_[static_cast<size_t>(i)].done <
        acts_[static_cast<size_t>(i)].blocks)
      progress(i);
  go_on(rank);
}

void NetworkSimulator::go_on(int rank) {
  Rank& state = ranks_[static_cast<size_t>(rank)];
  if (state.unfinished > 0 || state.limit >= state.end) return;
  if (state.limit < state.begin) return pass(rank);
  const Act& act = acts_[static_cast<size_t>(state.limit)];
  if (act.done > 0 ||
      !ready_[static_cast<size_t>(act.operation)][static_cast<size_t>(rank)])
    return;
  acts_[static_cast<size_t>(state.limit)].done = 1;
  if (act.kind == ActionKind::kShare || act.kind == ActionKind::kFence)
    return meet(rank);
  post(now_ + memory_seconds(act), Event::Kind::kPassed, rank);
}

// The ranks of a host share its memory, and all are at this at once; where
// hosts have different numbers of them, those that own a slice.
double NetworkSimulator::memory_seconds(const Act& act) const {
  if (act.kind == ActionKind::kJoin) return 0;
  const double here = network_.workers_on(host_of(act.rank));
  const bool reduces = act.kind == ActionKind::kSliceReduce;
  const double at_it = reduces ? network_.least_on_a_host() : here;
  const double seconds = act.bytes * at_it / network_.memory_rate / 4;
  if (!reduces) return seconds;
  // Reads the slice of all, and writes it to one or to all.
  return here * seconds * (act.action->peer < 0 ? 2 : 1);
}

void NetworkSimulator::meet(int rank) {
  const int host = host_of(rank);
  std::vector<int>& here = at_fence_[static_cast<size_t>(host)];
  here.push_back(rank);
  if (static_cast<int>(here.size()) < network_.workers_on(host)) return;
  for (const int other : here)
    post(now_ + network_.local_latency, Event::Kind::kPassed, other);
  here.clear();
}

void NetworkSimulator::pass(int rank) {
  Rank& state = ranks_[static_cast<size_t>(rank)];
  const int passed = state.limit;
  if (passed >= state.begin) count_end(acts_[static_cast<size_t>(passed)]);
  const int first = passed + 1;
  state.limit = first;
  while (state.limit < state.end &&
         !is_barrier(acts_[static_cast<size_t>(state.limit)].kind))
    ++state.limit;
  const int limit = state.limit;
  state.unfinished = 0;
  for (int i = first; i < limit; ++i)
    if (!apart(acts_[static_cast<size_t>(i)].operation)) ++state.unfinished;
  for (int i = first; i < limit; ++i) progress(i);
  go_on(rank);
}

Result<std::vector<std::vector<double>>> simulate_network(
    const Network& network, std::span<const SimulatedOperation> operations,
    const NetworkSimulation& options) {
  NetworkSimulator first(network, operations, options);
  auto ends = first.run();
  // What shapers let through at once depends on when the step before ended on
  // their link.
  if (!ends.ok() || network.burst == 0) return ends;
  NetworkSimulator second(network, operations, options);
  second.come_behind(first);
  return second.run();
}

}  // namespace rondo
