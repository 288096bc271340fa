#include "rondo/runtime/local_worker.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "rondo/base/cores.h"
#include "rondo/runtime/intra_op.h"
#include "rondo/runtime/local_rendezvous.h"
#include "rondo/runtime/step_wake.h"

namespace rondo {
namespace {

// Waking a thread and waiting for it to leave takes some ten microseconds: a
// step that needed a few times that, but for waiting, is left to its caller.
constexpr Duration kShortStep = std::chrono::microseconds(60);

// Whether a run may wait, or take much longer than the one before: for what
// comes from elsewhere, in a loop, in the other branch, for the end of an
// iterator, in a function or an operation of the user's, of which nobody knows
// what it does.
bool may_last(const StepPlan& plan) {
  return plan.has_async || plan.frames.size() > 1 ||
         std::ranges::any_of(plan.items, [](const StepPlan::Item& item) {
           if (!item.kernel) return false;
           const std::string_view op = item.node->op().name;
           return op == "HostCall" || op == "Switch" || op == "MakeIterator" ||
                  item.node->op().cost == nullptr;
         });
}

// Of steps that were cancelled, the latest are remembered, for calls that come
// after their cancellation.
constexpr size_t kMostCancelled = 1024;

}  // namespace

struct LocalWorker::Registered {
  struct DevicePart {
    Device* device;
    std::shared_ptr<CompiledPart> compiled;
  };
  std::vector<DevicePart> parts;
  size_t feeds = 0;
  int intra_op = 1;
  bool may_last = false;               // one of the parts
  std::atomic<bool> is_short = false;  // as the last step was
  std::mutex mutex;
  std::vector<std::unique_ptr<StepRun>> idle;  // guarded by mutex
};

// What one step of all parts needs besides the steps; used again.
struct LocalWorker::StepRun {
  std::vector<std::unique_ptr<Step>> steps;
  LocalRendezvous local;
  Resources resources;
  StepWake wake;
};

// A step, known to cancel() while it runs.
class LocalWorker::Running {
 public:
  Running(LocalWorker& worker, int64_t step,
          const std::shared_ptr<Cancellation>& run)
      : worker_(worker), step_(step) {
    const std::lock_guard lock(worker.mutex_);
    worker.running_[step] = run;
    // Nobody has asked to be told yet.
    for (const auto& [cancelled, why] : worker.cancelled_)
      if (cancelled == step) run->cancel(why);
  }
  ~Running() {
    const std::lock_guard lock(worker_.mutex_);
    worker_.running_.erase(step_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  LocalWorker& worker_;
  const int64_t step_;
};

LocalWorker::LocalWorker(Options options)
    : options_(std::move(options)),
      inter_op_(std::max(1, options_.inter_op_threads)),
      pool_(inter_op_ * static_cast<int>(options_.devices.size()) - 1, [] {}) {
  for (const std::string& name : options_.devices)
    devices_.push_back(std::make_unique<CpuDevice>(name));
}

LocalWorker::~LocalWorker() = default;

std::vector<std::string> LocalWorker::devices() const {
  return options_.devices;
}

Result<Device*> LocalWorker::find_device(const std::string& name) {
  for (const auto& device : devices_)
    if (device->name() == name) return device.get();
  return error(Code::kInvalidArgument,
               "there is no device {} here; there are {}", name,
               fmt::join(options_.devices, ", "));
}

Result<int64_t> LocalWorker::add(std::vector<Part> parts, Deadline,
                                 const Cancellation&) {
  auto graph = std::make_shared<Registered>();
  graph->intra_op =
      options_.intra_op_threads > 0
          ? options_.intra_op_threads
          : std::max<int>(1,
                          share_of_cores() /
                              std::max<int>(1, static_cast<int>(parts.size())));
  // What is folded while compiling has the bits that it would have in a step.
  const IntraOpThreads threads(graph->intra_op);
  for (Part& part : parts) {
    RONDO_ASSIGN_OR_RETURN(Device * device, find_device(part.device));
    graph->feeds += part.subgraph.feeds.size();
    auto compiled =
        CompiledPart::make(std::move(part.subgraph), *device, containers_);
    if (!compiled.ok())
      return compiled.status().with_context(fmt::format("on {}", part.device));
    graph->may_last = graph->may_last || may_last((*compiled)->plan());
    graph->parts.push_back({device, std::move(*compiled)});
  }
  const std::lock_guard lock(mutex_);
  graphs_[next_graph_] = std::move(graph);
  return next_graph_++;
}

void LocalWorker::remove(int64_t graph) {
  std::shared_ptr<Registered> gone;
  const std::lock_guard lock(mutex_);
  const auto at = graphs_.find(graph);
  if (at == graphs_.end()) return;
  gone = std::move(at->second);
  graphs_.erase(at);
}

std::shared_ptr<LocalWorker::Registered> LocalWorker::find(int64_t graph) {
  const std::lock_guard lock(mutex_);
  const auto at = graphs_.find(graph);
  return at == graphs_.end() ? nullptr : at->second;
}

void LocalWorker::cancel(int64_t step, const Status& why) {
  std::shared_ptr<Cancellation> run;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = running_.find(step); at != running_.end()) {
      run = at->second;
    } else {
      cancelled_.emplace_back(step, why);
      if (cancelled_.size() > kMostCancelled) cancelled_.pop_front();
    }
  }
  if (run) run->cancel(why);
}

void LocalWorker::run(StepCall call, Done done) {
  // To wake a thread takes longer than such a step. With feeds, the next one's
  // may be much larger than the last one's.
  if (const auto graph = find(call.graph);
      graph && graph->is_short && !graph->may_last && graph->feeds == 0)
    return done(run_here(std::move(call)));
  run_threads_.start(
      [this, call = std::move(call), done = std::move(done)]() mutable {
        done(run_here(std::move(call)));
      });
}

Result<std::vector<Tensor>> LocalWorker::run_here(StepCall call) {
  const auto graph = find(call.graph);
  if (!graph)
    return error(Code::kInvalidArgument, "there is no graph {} here",
                 call.graph);
  if (call.feeds.size() != graph->feeds)
    return error(Code::kInvalidArgument, "{} tensors are fed, expected {}",
                 call.feeds.size(), graph->feeds);
  std::unique_ptr<StepRun> run;
  {
    const std::lock_guard lock(graph->mutex);
    if (!graph->idle.empty()) {
      run = std::move(graph->idle.back());
      graph->idle.pop_back();
    }
  }
  if (!run) {
    run = std::make_unique<StepRun>();
    for (const auto& part : graph->parts)
      run->steps.push_back(part.compiled->take());
  }
  auto result = run_parts(*graph, *run, call);
  run->local.clear();
  // A lock that the step still holds is let go here.
  run->resources.clear();
  const std::lock_guard lock(graph->mutex);
  graph->idle.push_back(std::move(run));
  return result;
}

Result<std::vector<Tensor>> LocalWorker::run_parts(Registered& graph,
                                                   StepRun& run,
                                                   StepCall& call) {
  std::shared_ptr<Rendezvous> others;
  if (options_.rendezvous) others = options_.rendezvous(call.step);
  Rendezvous& rendezvous = others ? *others : run.local;
  // Shared with cancel(), which may still be in it when the step is over.
  const auto owned = std::make_shared<Cancellation>();
  Cancellation& cancellation = *owned;
  const Running running(*this, call.step, owned);
  const int link =
      cancellation.on_cancel([&] { rendezvous.abort(cancellation.reason()); });
  size_t feed = 0;
  for (size_t i = 0; i < run.steps.size(); ++i) {
    Step& step = *run.steps[i];
    const auto& part = graph.parts[i];
    for (size_t k = 0; k < part.compiled->plan().feeds.size(); ++k)
      step.feeds().push_back(std::move(call.feeds[feed++]));
    step.begin({.cancellation = &cancellation,
                .deadline = call.deadline,
                .timeline = call.timeline,
                .several_threads = pool_.threads() > 0,
                .device = part.device->name(),
                .rendezvous = &rendezvous,
                .run_resources = &run.resources,
                .wake = &run.wake,
                .wake_for_ready = inter_op_ > 1});
  }
  work_on(graph, run, call.deadline);
  cancellation.forget(link);
  std::vector<Tensor> fetched;
  Status failure;
  for (const auto& step : run.steps) {
    auto result = step->finish();
    if (!result.ok()) {
      if (failure.ok()) failure = result.status();
      continue;
    }
    for (Tensor& tensor : *result) fetched.push_back(std::move(tensor));
  }
  // One that failed may have been short for that.
  if (cancellation.cancelled() || !failure.ok()) graph.is_short = false;
  // The others failed because this one did.
  if (cancellation.cancelled()) return cancellation.reason();
  if (!failure.ok()) return failure;
  return fetched;
}

void LocalWorker::work_on(Registered& graph, StepRun& run, Deadline deadline) {
  const size_t parts = run.steps.size();
  std::atomic<size_t> joined = 0;
  std::atomic<int64_t> worked = 0;  // nanoseconds, of all threads
  const auto work = [&] {
    const IntraOpThreads threads(graph.intra_op);
    // Each thread begins with a part of its own.
    const size_t first = joined++;
    for (;;) {
      const auto start = Clock::now();
      const uint64_t now = run.wake.now();
      bool over = true;
      for (size_t k = 0; k < parts; ++k)
        over = run.steps[(first + k) % parts]->work_some() && over;
      worked += Duration(Clock::now() - start).count();
      if (over) break;
      // Bounded: deadlines are looked at by those who are awake.
      const auto nap =
          std::min<Duration>(deadline.left(), std::chrono::milliseconds(20));
      run.wake.sleep(now,
                     std::max<Duration>(nap, std::chrono::milliseconds(1)));
    }
    run.wake.notify();
  };
  if (graph.is_short || (parts == 1 && inter_op_ == 1))
    work();
  else
    pool_.run(work);
  graph.is_short = Duration(worked) < kShortStep;
}

}  // namespace rondo
