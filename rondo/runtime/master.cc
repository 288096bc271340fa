#include "rondo/runtime/master.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <optional>
#include <random>

#include "rondo/graph/partition/copy_constants.h"
#include "rondo/graph/placement/colocation.h"

namespace rondo {
namespace {

// Steps of different masters on one worker must not have the same number.
int64_t first_step() {
  std::random_device source;
  return static_cast<int64_t>(
      ((static_cast<uint64_t>(source()) << 32 | source()) >> 2));
}

std::vector<Value> values_of(const std::vector<Feed>& feeds) {
  std::vector<Value> values;
  for (const Feed& feed : feeds) values.push_back(feed.value);
  return values;
}

std::vector<Node*> small_constants(const Graph& graph) {
  std::vector<Node*> small;
  for (const auto& node : graph.nodes())
    if (is_copied_constant(*node)) small.push_back(node.get());
  return small;
}

void print_placement(const Subgraph& step) {
  std::string text;
  for (const Node* node : ordered_nodes(step))
    text += fmt::format("{} ({}): {}\n", node->name(), node->op().name,
                        node->device());
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Master::Plan::~Plan() {
  for (const Share& share : shares) share.worker->remove(share.graph);
}

Master::Master(Graph& graph, MasterOptions options)
    : graph_(graph), options_(std::move(options)), next_step_(first_step()) {}

Master::~Master() = default;

std::vector<std::string> Master::devices() const {
  std::vector<std::string> all;
  for (const auto& worker : options_.workers)
    for (std::string& name : worker->devices()) all.push_back(std::move(name));
  return all;
}

// ---- Plans ------------------------------------------------------------------

Result<std::shared_ptr<Master::Plan>> Master::plan_for(
    const std::vector<Value>& fetches, const std::vector<Feed>& feeds,
    const std::vector<Node*>& targets, const Limits& limits) {
  if (auto plan = find_plan(fetches, feeds, targets)) return plan;
  RONDO_ASSIGN_OR_RETURN(const auto turn, take_turn(limits));
  if (auto plan = find_plan(fetches, feeds, targets)) return plan;
  RONDO_ASSIGN_OR_RETURN(auto plan, make_plan(fetches, feeds, targets, limits));
  keep(plan, fetches, feeds, targets);
  return plan;
}

Result<Turns::Turn> Master::take_turn(const Limits& limits) {
  return turns_.take(limits.deadline, limits.cancellation,
                     "another run of this session was being placed");
}

std::shared_ptr<Master::Plan> Master::find_plan(
    const std::vector<Value>& fetches, const std::vector<Feed>& feeds,
    const std::vector<Node*>& targets) {
  const std::lock_guard lock(mutex_);
  set_key(key_, fetches, feeds, targets);
  const auto at = plans_.find(key_);
  return at == plans_.end() ? nullptr : at->second;
}

void Master::keep(std::shared_ptr<Plan> plan, const std::vector<Value>& fetches,
                  const std::vector<Feed>& feeds,
                  const std::vector<Node*>& targets) {
  const std::lock_guard lock(mutex_);
  set_key(key_, fetches, feeds, targets);
  plans_[key_].swap(plan);  // the old one goes behind the lock
}

Result<std::shared_ptr<Master::Plan>> Master::make_plan(
    const std::vector<Value>& fetches, const std::vector<Feed>& feeds,
    const std::vector<Node*>& targets, const Limits& limits) {
  try {
    Subgraph step;
    {
      const auto still = graph_.still();
      step = extract(graph_, values_of(feeds), fetches, targets);
      RONDO_RETURN_IF_ERROR(options_.place(graph_, step));
    }
    return compile(std::move(step), limits);
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
}

Result<std::shared_ptr<Master::Plan>> Master::compile(Subgraph step,
                                                      const Limits& limits) {
  if (options_.log_placement) print_placement(step);
  copy_constants(small_constants(*step.graph), *step.graph);
  // Across devices; what is within one is ordered when it is compiled.
  order_changes(step, {.users = false});
  std::vector<GraphPart> parts = partition(step, options_.partition);
  if (options_.delay.transfer_time) delay_recvs(parts, options_.delay);
  RONDO_ASSIGN_OR_RETURN(auto plan, hand_out(std::move(parts), limits));
  plan->fetches = step.fetches.size();
  return plan;
}

void Master::learn(const std::shared_ptr<Plan>& plan, const Timeline& times,
                   int64_t run, const std::vector<Value>& fetches,
                   const std::vector<Feed>& feeds,
                   const std::vector<Node*>& targets, const Limits& limits) {
  // If anything fails here, the plan that there is still serves. Nor is it
  // worth a wait: a later run learns as much.
  const auto turn = turns_.try_take();
  // Another run may have learned meanwhile.
  if (!turn || find_plan(fetches, feeds, targets) != plan) return;
  try {
    Subgraph step;
    {
      const auto still = graph_.still();
      step = extract(graph_, values_of(feeds), fetches, targets);
      const auto again = options_.place_again(graph_, times, run, step);
      if (!again.ok() || !*again) return;
    }
    auto better = compile(std::move(step), limits);
    if (!better.ok()) return;
    (*better)->runs = plan->runs.load();
    keep(std::move(*better), fetches, feeds, targets);
  } catch (const Error&) {
    return;  // it stays as it was
  }
}

Result<std::string> Master::explain(const std::vector<Value>& fetches,
                                    const std::vector<Value>& feeds,
                                    const std::vector<Node*>& targets) {
  Cancellation cancellation;
  const ActiveRuns::Entry entry(runs_, cancellation);
  RONDO_ASSIGN_OR_RETURN(const auto turn,
                         take_turn({Deadline::never(), cancellation}));
  try {
    const auto still = graph_.still();
    Subgraph step = extract(graph_, feeds, fetches, targets);
    return options_.explain(graph_, step);
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
}

Result<std::shared_ptr<Master::Plan>> Master::hand_out(
    std::vector<GraphPart> parts, const Limits& limits) {
  auto plan = std::make_shared<Plan>();
  for (const auto& worker : options_.workers) {
    const std::vector<std::string> devices = worker->devices();
    Share share{.worker = worker.get()};
    std::vector<Worker::Part> its;
    for (GraphPart& part : parts) {
      if (std::ranges::find(devices, part.device) == devices.end()) continue;
      share.feeds.insert(share.feeds.end(), part.feeds.begin(),
                         part.feeds.end());
      share.fetches.insert(share.fetches.end(), part.fetches.begin(),
                           part.fetches.end());
      its.push_back({part.device, std::move(part.subgraph)});
    }
    if (its.empty()) continue;
    RONDO_ASSIGN_OR_RETURN(
        share.graph,
        worker->add(std::move(its), limits.deadline, limits.cancellation));
    plan->shares.push_back(std::move(share));
  }
  for (const GraphPart& part : parts)
    if (part.subgraph.graph)
      return error(Code::kInternal, "no worker has the device {}", part.device);
  return plan;
}

// ---- Steps ------------------------------------------------------------------

// One step on several workers, until all have answered.
class Master::StepRun {
 public:
  StepRun(const Plan& plan, int64_t step, bool timed)
      : plan_(plan),
        step_(step),
        left_(plan.shares.size()),
        answered_(plan.shares.size()),
        results_(plan.shares.size()) {
    if (timed) times_.emplace();
  }

  // Workers write to it until they have answered, also those that are not
  // waited for: so it is not the caller's.
  Timeline* times() { return times_ ? &*times_ : nullptr; }
  // What it has by now, at the same times.
  void add_times_to(Timeline& all) const {
    const std::chrono::duration<double, std::micro> shift =
        times_->origin() - all.origin();
    for (Timeline::Event& event : times_->events()) {
      event.start_us += shift.count();
      all.add(std::move(event));
    }
  }

  void answer(size_t share, Result<std::vector<Tensor>> result) {
    std::unique_lock lock(mutex_);
    if (result.ok()) {
      results_[share] = std::move(*result);
    } else if (failure_.ok()) {
      failure_ = result.status();
      tell([&](size_t other) { return other != share; }, lock);
    }
    answered_[share] = true;
    --left_;
    all_.notify_all();
  }
  // What each share fetched, or why the step failed. Who has not answered by
  // `last` is told that the step is over, and may answer when the plan is gone.
  Result<std::vector<std::vector<Tensor>>> wait(const Deadline& last) {
    std::unique_lock lock(mutex_);
    while (left_ > 0 && last.left() > Duration::zero())
      all_.wait_for(lock, std::min<Duration>(last.left(), kLongWait));
    if (left_ > 0) give_up(lock);
    all_.wait(lock, [&] { return telling_ == 0; });
    if (!failure_.ok()) return failure_;
    return std::move(results_);
  }

 private:
  // As long as a clock can add.
  static constexpr Duration kLongWait = std::chrono::hours(1);

  void give_up(std::unique_lock<std::mutex>& lock) {
    const std::vector<bool> answered = answered_;
    const auto first = std::ranges::find(answered, false) - answered.begin();
    if (failure_.ok())
      failure_ = error(
          Code::kTimeout,
          "{} did not end its part when the time of the step was over: it is "
          "within a long operation or stopped, or its host cannot be reached",
          plan_.shares[static_cast<size_t>(first)].worker->devices()[0]);
    tell([&](size_t share) { return !answered[share]; }, lock);
  }
  // Ends the step where `whom` says so. Not while the lock is held: who is told
  // may answer at once.
  template <class Whom>
  void tell(const Whom& whom, std::unique_lock<std::mutex>& lock) {
    const Status why = failure_;
    ++telling_;
    lock.unlock();
    for (size_t i = 0; i < plan_.shares.size(); ++i)
      if (whom(i)) plan_.shares[i].worker->cancel(step_, why);
    lock.lock();
    --telling_;
    all_.notify_all();
  }

  const Plan& plan_;  // there until wait() returns
  const int64_t step_;
  std::optional<Timeline> times_;
  std::mutex mutex_;
  std::condition_variable all_;
  // Guarded by mutex_.
  size_t left_;      // shares that have not answered
  int telling_ = 0;  // threads that use the plan
  std::vector<bool> answered_;
  Status failure_;
  std::vector<std::vector<Tensor>> results_;
};

Status Master::put(const Share& share, std::vector<Tensor>& fetched,
                   std::vector<Tensor>& all) {
  if (fetched.size() != share.fetches.size())
    return error(Code::kInternal, "{} gave {} tensors for {} fetches",
                 share.worker->devices()[0], fetched.size(),
                 share.fetches.size());
  for (size_t i = 0; i < fetched.size(); ++i)
    all[static_cast<size_t>(share.fetches[i])] = std::move(fetched[i]);
  return {};
}

Result<std::vector<Tensor>> Master::run_step(const Plan& plan,
                                             const std::vector<Feed>& feeds,
                                             const Limits& limits,
                                             Timeline* timeline) {
  Cancellation& cancellation = limits.cancellation;
  const int64_t step = next_step_++;
  const int link = cancellation.on_cancel([&] {
    for (const Share& share : plan.shares)
      share.worker->cancel(step, cancellation.reason());
  });
  auto call_for = [&](const Share& share, Timeline* times) {
    Worker::StepCall call{.graph = share.graph,
                          .step = step,
                          .deadline = limits.deadline,
                          .timeline = times};
    for (const int feed : share.feeds)
      call.feeds.push_back(feeds[static_cast<size_t>(feed)].tensor);
    return call;
  };
  std::vector<Tensor> all(plan.fetches);
  Status failure;
  if (plan.shares.size() == 1) {
    const Share& share = plan.shares[0];
    auto fetched = share.worker->run_here(call_for(share, timeline));
    failure = fetched.ok() ? put(share, *fetched, all) : fetched.status();
  } else if (!plan.shares.empty()) {
    const auto run = std::make_shared<StepRun>(plan, step, timeline != nullptr);
    const size_t last = plan.shares.size() - 1;
    for (size_t i = 0; i < last; ++i)
      plan.shares[i].worker->run(
          call_for(plan.shares[i], run->times()),
          [run, i](auto result) { run->answer(i, std::move(result)); });
    const Share& here = plan.shares[last];
    run->answer(last, here.worker->run_here(call_for(here, run->times())));
    auto results = run->wait(limits.deadline.passed()
                                 ? Deadline(Worker::kGrace)
                                 : Worker::last_word(limits.deadline));
    if (timeline) run->add_times_to(*timeline);
    failure = results.status();
    for (size_t i = 0; failure.ok() && i <= last; ++i)
      failure = put(plan.shares[i], (*results)[i], all);
  }
  cancellation.forget(link);
  if (!failure.ok()) return failure;
  return all;
}

Result<std::vector<Tensor>> Master::run_within(
    const Limits& limits, const std::vector<Value>& fetches,
    const std::vector<Feed>& feeds, const std::vector<Node*>& targets,
    Timeline* timeline) {
  RONDO_ASSIGN_OR_RETURN(const auto plan,
                         plan_for(fetches, feeds, targets, limits));
  Timeline times;
  const bool counts = options_.wants_times && !timeline;
  const int64_t run = counts ? ++plan->runs : 0;
  const bool timed = counts && options_.wants_times(run);
  auto result = run_step(*plan, feeds, limits, timed ? &times : timeline);
  if (timed && result.ok())
    learn(plan, times, run, fetches, feeds, targets, limits);
  return result;
}

Result<std::vector<Tensor>> Master::run(const std::vector<Value>& fetches,
                                        const std::vector<Feed>& feeds,
                                        const std::vector<Node*>& targets,
                                        const RunOptions& options) {
  Cancellation cancellation;
  const ActiveRuns::Entry entry(runs_, cancellation);
  int link = 0;
  if (options.cancellation)
    link = options.cancellation->on_cancel(
        [&] { cancellation.cancel(options.cancellation->reason()); });
  auto result = run_within({options.deadline(), cancellation}, fetches, feeds,
                           targets, options.timeline);
  if (options.cancellation) options.cancellation->forget(link);
  if (result.ok())
    // What variables, constants, feeds or other fetches hold stays theirs.
    for (Tensor& tensor : *result)
      if (!tensor.unique()) tensor = tensor.clone();
  return result;
}

}  // namespace rondo
