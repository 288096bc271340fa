#include "rondo/plan/network_simulator.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "rondo/plan/simulated_parts.h"

namespace rondo {
namespace {

class NetworkSimulator {
 public:
  NetworkSimulator(const Network& network,
                   std::span<const SimulatedOperation> operations,
                   const NetworkSimulation& options)
      : network_(network),
        operations_(operations),
        options_(options),
        ranks_(static_cast<size_t>(network.workers + options.spare)),
        at_fence_(static_cast<size_t>(network.hosts)) {
    make_links();
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
      add_acts(rank);
    for (int i = 0; i < static_cast<int>(acts_.size()); ++i) join_channel(i);
  }

  Result<std::vector<std::vector<double>>> run() {
    for (size_t op = 0; op < operations_.size(); ++op)
      for (size_t rank = 0; rank < ranks_.size(); ++rank)
        post(operations_[op].ready[rank], Event::Kind::kReady,
             static_cast<int>(op), static_cast<int>(rank));
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      go_on(static_cast<int>(rank));
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      handle(event);
    }
    for (size_t op = 0; op < operations_.size(); ++op)
      for (size_t rank = 0; rank < ranks_.size(); ++rank)
        if (left_[op][rank] > 0)
          return error(Code::kInternal,
                       "operation {} never ends on rank {} of the simulation",
                       op, rank);
    return ends_;
  }

 private:
  int machines() const {
    return network_.hosts + (options_.beside ? 0 : options_.spare);
  }
  int host_of(int rank) const {
    if (rank < network_.workers) return network_.host_of(rank);
    const int spare = rank - network_.workers;
    return options_.beside ? network_.host_of_server(spare, options_.spare)
                           : network_.hosts + spare;
  }

  // Up and down of each machine, the memory of each rank, up and down of racks.
  void make_links() {
    const auto add = [&](int count, double rate, double burst) {
      for (int i = 0; i < count; ++i)
        links_.push_back({.rate = rate, .burst = burst});
    };
    add(2 * machines(), network_.link, network_.burst);
    add(static_cast<int>(ranks_.size()), network_.local_rate, 0);
    if (network_.has_uplinks())
      add(2 * network_.racks, network_.uplink, network_.burst);
  }

  void add_acts(int rank) {
    Rank& state = ranks_[static_cast<size_t>(rank)];
    state.begin = static_cast<int>(acts_.size());
    for (size_t op = 0; op < operations_.size(); ++op) {
      if (options_.in_order && op > 0)
        acts_.push_back({.rank = rank, .operation = static_cast<int>(op)});
      add_plan(rank, static_cast<int>(op));
    }
    state.end = static_cast<int>(acts_.size());
    state.limit = state.begin - 1;
  }

  void add_plan(int rank, int op) {
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
      act.blocks =
          std::max(1, static_cast<int>(std::ceil(act.bytes / piece())));
      if (is_message(act.kind)) act.grain = grain(rank, action.peer);
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

  double piece() const { return network_.block / options_.pieces; }

  // Pieces of blocks that arrive together, or that a server waits for.
  int grain(int rank, int peer) const {
    int blocks = host_of(rank) == host_of(peer) ? 1 : network_.streams;
    if (std::max(rank, peer) >= network_.workers)
      blocks = std::max(1, static_cast<int>(network_.part / network_.block));
    return blocks * options_.pieces;
  }

  void join_channel(int i) {
    Act& act = acts_[static_cast<size_t>(i)];
    if (!is_message(act.kind)) return;
    const bool sends = act.kind == ActionKind::kSend;
    const int peer = act.action->peer;
    act.channel = channel(sends ? act.rank : peer, sends ? peer : act.rank);
    Channel& to = channels_[static_cast<size_t>(act.channel)];
    (sends ? to.sends : to.receives).push_back(i);
  }

  int channel(int from, int to) {
    const auto [at, fresh] = numbers_.emplace(
        std::pair(from, to), static_cast<int>(channels_.size()));
    if (!fresh) return at->second;
    Channel made;
    const int source = host_of(from), target = host_of(to);
    if (source == target) {
      made.link = 2 * machines() + from;
      made.latency = network_.local_latency;
    } else {
      made.link = source;
      made.latency = network_.latency;
      const int a = network_.rack_of(source), b = network_.rack_of(target);
      if (network_.has_uplinks() && a != b) {
        const int racks = 2 * machines() + static_cast<int>(ranks_.size());
        made.others = {racks + a, racks + network_.racks + b};
      }
      made.others.push_back(machines() + target);
    }
    channels_.push_back(std::move(made));
    return at->second;
  }

  void post(double time, Event::Kind kind, int a, int b = 0) {
    events_.push({time, order_++, kind, a, b});
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::kReady:
        ready_[static_cast<size_t>(event.a)][static_cast<size_t>(event.b)] =
            true;
        look_again(event.b);
        break;
      case Event::Kind::kLinkFree:
        links_[static_cast<size_t>(event.a)].busy = false;
        sent(event.b);
        serve(event.a);
        break;
      case Event::Kind::kArrival: {
        Channel& channel = channels_[static_cast<size_t>(event.a)];
        const int i = channel.receives[channel.next_receive];
        Act& act = acts_[static_cast<size_t>(i)];
        if (++act.arrived == act.blocks) ++channel.next_receive;
        progress(i);
        break;
      }
      case Event::Kind::kPassed: pass(event.a); break;
    }
  }

  bool may_run(int i) const {
    const Act& act = acts_[static_cast<size_t>(i)];
    return i < ranks_[static_cast<size_t>(act.rank)].limit &&
           ready_[static_cast<size_t>(act.operation)]
                 [static_cast<size_t>(act.rank)];
  }

  // Blocks of `act` that what it waits for has given.
  int given(const Act& act) const {
    return act.after < 0 ? act.blocks
                         : acts_[static_cast<size_t>(act.after)].released();
  }

  void progress(int i) {
    if (!may_run(i)) return;
    Act& act = acts_[static_cast<size_t>(i)];
    if (act.kind == ActionKind::kSend) return offer(act.channel);
    int done = given(act);
    if (is_message(act.kind)) done = std::min(done, act.arrived);
    if (done > act.done) advance(i, done);
  }

  void advance(int i, int done) {
    Act& act = acts_[static_cast<size_t>(i)];
    act.done = done;
    const bool finished = done == act.blocks;
    for (int d = act.first_dependent; d >= 0;
         d = acts_[static_cast<size_t>(d)].next_dependent)
      progress(d);
    if (!finished) return;
    count_end(act);
    --ranks_[static_cast<size_t>(act.rank)].unfinished;
    go_on(act.rank);
  }

  void count_end(const Act& act) {
    if (act.action == nullptr) return;
    const auto op = static_cast<size_t>(act.operation);
    const auto rank = static_cast<size_t>(act.rank);
    if (--left_[op][rank] == 0) ends_[op][rank] = now_;
  }

  // Lets a channel wait for its link if it has a block to send.
  void offer(int number) {
    Channel& channel = channels_[static_cast<size_t>(number)];
    if (channel.waiting || channel.next_send == channel.sends.size()) return;
    const int i = channel.sends[channel.next_send];
    const Act& act = acts_[static_cast<size_t>(i)];
    if (!may_run(i) || given(act) <= act.sent) return;
    Link& link = links_[static_cast<size_t>(channel.link)];
    channel.waiting = true;
    channel.tag = std::max(channel.tag, link.turn) + block_bytes(act, act.sent);
    link.waiting.emplace(channel.tag, number);
    serve(channel.link);
  }

  double block_bytes(const Act& act, int block) const {
    return std::min(piece(), act.bytes - block * piece());
  }

  void serve(int number) {
    Link& link = links_[static_cast<size_t>(number)];
    if (link.busy || link.waiting.empty()) return;
    const auto [tag, c] = link.waiting.top();
    link.waiting.pop();
    link.turn = tag;
    link.busy = true;
    Channel& channel = channels_[static_cast<size_t>(c)];
    const int i = channel.sends[channel.next_send];
    Act& act = acts_[static_cast<size_t>(i)];
    const double bytes = block_bytes(act, act.sent++);
    if (act.sent == act.blocks) ++channel.next_send;
    double end = link.send(now_, bytes);
    post(end, Event::Kind::kLinkFree, number, i);
    // The first byte may be through all links before the last has left.
    for (const int other : channel.others) {
      Link& next = links_[static_cast<size_t>(other)];
      end = std::max(end, next.send(now_, bytes));
      next.free = std::max(next.free, end - next.burst);
    }
    post(end + channel.latency, Event::Kind::kArrival, c);
  }

  // A block of send `i` has left.
  void sent(int i) {
    Act& act = acts_[static_cast<size_t>(i)];
    channels_[static_cast<size_t>(act.channel)].waiting = false;
    offer(act.channel);
    advance(i, act.done + 1);
  }

  // Begins what the rank may, after one of its operations became ready.
  void look_again(int rank) {
    const Rank& state = ranks_[static_cast<size_t>(rank)];
    const int limit = state.limit;
    for (int i = state.begin; i < limit; ++i)
      if (acts_[static_cast<size_t>(i)].done <
          acts_[static_cast<size_t>(i)].blocks)
        progress(i);
    go_on(rank);
  }

  // Comes to the next barrier once all before it is finished.
  void go_on(int rank) {
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

  // The ranks of a host share its memory, and all are at this at once.
  double memory_seconds(const Act& act) const {
    if (act.kind == ActionKind::kJoin) return 0;
    const double here = network_.workers_on(host_of(act.rank));
    const double seconds = act.bytes * here / network_.memory_rate / 4;
    if (act.kind != ActionKind::kSliceReduce) return seconds;
    // Reads the slice of all, and writes it to one or to all.
    return here * seconds * (act.action->peer < 0 ? 2 : 1);
  }

  void meet(int rank) {
    const int host = host_of(rank);
    std::vector<int>& here = at_fence_[static_cast<size_t>(host)];
    here.push_back(rank);
    if (static_cast<int>(here.size()) < network_.workers_on(host)) return;
    for (const int other : here)
      post(now_ + network_.local_latency, Event::Kind::kPassed, other);
    here.clear();
  }

  // The rank is through its barrier, and begins what lies before the next.
  void pass(int rank) {
    Rank& state = ranks_[static_cast<size_t>(rank)];
    const int passed = state.limit;
    if (passed >= state.begin) count_end(acts_[static_cast<size_t>(passed)]);
    const int first = passed + 1;
    state.limit = first;
    while (state.limit < state.end &&
           !is_barrier(acts_[static_cast<size_t>(state.limit)].kind))
      ++state.limit;
    state.unfinished = state.limit - first;
    const int limit = state.limit;
    for (int i = first; i < limit; ++i) progress(i);
    go_on(rank);
  }

  const Network& network_;
  const std::span<const SimulatedOperation> operations_;
  const NetworkSimulation options_;
  std::vector<Act> acts_;
  std::vector<Rank> ranks_;
  std::vector<Link> links_;
  std::vector<Channel> channels_;
  std::map<std::pair<int, int>, int> numbers_;  // of channels
  std::vector<std::vector<int>> at_fence_;      // ranks, by host
  std::vector<std::vector<int>> left_;          // acts, by operation and rank
  std::vector<std::vector<double>> ends_;
  std::vector<std::vector<bool>> ready_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  int64_t order_ = 0;
  double now_ = 0;
};

}  // namespace

Result<std::vector<std::vector<double>>> simulate_network(
    const Network& network, std::span<const SimulatedOperation> operations,
    const NetworkSimulation& options) {
  return NetworkSimulator(network, operations, options).run();
}

}  // namespace rondo
