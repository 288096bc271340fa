#include "rondo/runtime/step.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "rondo/base/attempt.h"

namespace rondo {

// What a kernel that has started and not ended keeps.
struct Step::AsyncRun {
  AsyncRun(const Ready& r, int output_count)
      : ready(r), outputs(static_cast<size_t>(output_count)) {}
  const Ready ready;
  std::vector<Tensor> outputs;
  std::optional<KernelContext> context;
  const Clock::time_point start = Clock::now();
  std::atomic<bool> over = false;
};

Step::Step(const StepPlan& plan, Device& device, Resources& resources)
    : plan_(plan),
      device_(device),
      resources_(resources),
      spare_frames_(plan.frames.size()),
      spare_iterations_(plan.frames.size()) {
  add_iteration(root_);
}

void Step::begin(const Options& options) {
  options_ = options;
  of_run_ = options.run_resources ? options.run_resources : &own_run_resources_;
  locks_ = options.several_threads || plan_.has_async;
  ready_.clear();
  next_ready_ = 0;
  in_progress_ = 0;
  running_.clear();
  latest_ = -1;
  told_to_cancel_ = false;
  status_ = {};
  if (options.rendezvous && !plan_.scopes.empty())
    fail(error(Code::kInvalidArgument,
               "exchanges between ranks, and gradients of several runs, need a "
               "session with one device: on several, nobody decides about "
               "their order within a step, or knows how all of it ended"));
  fetched_.assign(plan_.subgraph.fetches.size(), Tensor());
  is_fetched_.assign(plan_.subgraph.fetches.size(), 0);
  Iteration& iteration = *root_.live.front();
  const StepPlan::Frame& frame = plan_.frames[0];
  iteration.waits = frame.waits;
  std::ranges::fill(iteration.dead, 0);
  std::ranges::fill(iteration.has_live, 0);
  iteration.in_progress = 0;
  iteration.children.clear();
  const Status fed = attempt([&] { return take_feeds(iteration); });
  feeds_.clear();
  if (!fed.ok()) fail(fed);
  if (!status_.ok()) return;
  for (RunScope* scope : plan_.scopes) scope->begin_run(*of_run_);
  for (const int root : plan_.roots) make_ready(root_, iteration, root, false);
}

// ---- The threads of a run ---------------------------------------------------

void Step::work() {
  Lock lock(mutex_, std::defer_lock);
  if (locks_) lock.lock();
  std::vector<Tensor> outputs = take_outputs();
  for (;;) {
    look_for_an_end();
    if (run_next(outputs, lock) || wait(lock)) continue;
    spare_outputs_.push_back(std::move(outputs));
    return;
  }
}

bool Step::work_some() {
  Lock lock(mutex_, std::defer_lock);
  if (locks_) lock.lock();
  std::vector<Tensor> outputs = take_outputs();
  for (;;) {
    look_for_an_end();
    if (run_next(outputs, lock) || tell_cancelled(lock)) continue;
    spare_outputs_.push_back(std::move(outputs));
    return over();
  }
}

std::vector<Tensor> Step::take_outputs() {
  if (spare_outputs_.empty()) return {};
  std::vector<Tensor> outputs = std::move(spare_outputs_.back());
  spare_outputs_.pop_back();
  return outputs;
}

void Step::look_for_an_end() {
  if (status_.ok() && over()) return;
  if (options_.cancellation->cancelled()) fail(options_.cancellation->reason());
  // A loop may always have something to do, and so never come to wait().
  if (options_.deadline.left() == Duration::zero() && status_.ok())
    fail(late());
}

// Says what was running when the time was over, or else what was about to.
Status Step::late() const {
  constexpr size_t kMost = 4;
  const std::string late =
      fmt::format("the run did not end in time{}{}",
                  options_.device.empty() ? "" : " on ", options_.device);
  if (in_progress_ == 0 && next_ready_ < ready_.size())
    return error(Code::kTimeout, "{}: {} was to run next", late,
                 where(item(ready_[next_ready_].item)));
  if (in_progress_ == 0 && latest_ >= 0)
    return error(Code::kTimeout, "{}: the last that ran was {}", late,
                 where(item(latest_)));
  if (in_progress_ == 0) return error(Code::kTimeout, "{}", late);
  std::string names;
  for (size_t i = 0; i < std::min(kMost, running_.size()); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", where(item(running_[i])));
  if (running_.size() > kMost)
    names += fmt::format(" and {} more", running_.size() - kMost);
  return error(Code::kTimeout, "{}: it was still running {}", late, names);
}

// Whether there was one.
bool Step::run_next(std::vector<Tensor>& outputs, Lock& lock) {
  if (next_ready_ == ready_.size()) return false;
  const Ready ready = ready_[next_ready_++];
  if (next_ready_ == ready_.size()) {
    ready_.clear();
    next_ready_ = 0;
  }
  ++in_progress_;
  latest_ = ready.item;
  if (locks_) running_.push_back(ready.item);
  run_one(ready, outputs, lock);
  return true;
}

// What waits within a run that has failed is to stop; it answers in its own
// time, and from this thread too, so without the lock. True when it was told
// just now.
bool Step::tell_cancelled(Lock& lock) {
  if (status_.ok() || told_to_cancel_) return false;
  told_to_cancel_ = true;
  const Status reason = status_;
  if (locks_) lock.unlock();
  options_.cancellation->cancel(reason);
  if (locks_) lock.lock();
  return true;
}

// Until there is something to do, or false: the run is over.
bool Step::wait(Lock& lock) {
  if (tell_cancelled(lock)) return true;
  if (over()) {
    if (locks_) wake_.notify_all();
    return false;
  }
  // Naps are bounded: a cancellation does not know this condition variable.
  const auto nap = std::min<Duration>(options_.deadline.left(),
                                      std::chrono::milliseconds(20));
  wake_.wait_for(lock, std::max<Duration>(nap, std::chrono::milliseconds(1)));
  return true;
}

// With the lock, by a thread that is about to leave it and this run alone.
void Step::tell_others() {
  wake_.notify_all();
  if (options_.wake) options_.wake->notify();
}

void Step::run_one(const Ready& ready, std::vector<Tensor>& outputs,
                   Lock& lock) {
  const StepPlan::Item& it = item(ready.item);
  if (!ready.dead && it.kind == ItemKind::kSwitch) {
    complete(ready, {}, attempt([&] { return decide(ready); }));
  } else if (it.kind == ItemKind::kSend) {
    send_parcel(ready, lock);
  } else if (it.kind == ItemKind::kRecv && !ready.dead) {
    start_recv(ready, lock);
  } else if (ready.dead && it.scope) {
    complete(ready, {}, it.scope->left_out(*of_run_));
  } else if (ready.dead || it.kind != ItemKind::kKernel) {
    complete(ready, {}, {});
  } else if (it.async) {
    start_async(ready, lock);
  } else {
    run_kernel(ready, outputs, lock);
  }
}

std::span<Tensor> Step::inputs_of(const Ready& ready) const {
  const StepPlan::Item& it = item(ready.item);
  return {ready.iteration->slots.data() + it.first_slot,
          static_cast<size_t>(it.inputs)};
}

void Step::run_kernel(const Ready& ready, std::vector<Tensor>& outputs,
                      Lock& lock) {
  const StepPlan::Item& it = item(ready.item);
  if (locks_) lock.unlock();
  const auto wanted = static_cast<size_t>(it.outputs);
  if (outputs.size() < wanted) outputs.resize(wanted);
  KernelContext context(device_.allocator(), resources_, *of_run_,
                        *options_.cancellation, inputs_of(ready),
                        {outputs.data(), wanted});
  const auto start =
      options_.timeline ? Clock::now() : Clock::time_point::min();
  const Status status = attempt([&] {
    bring_inputs(it, inputs_of(ready));
    RONDO_RETURN_IF_ERROR(it.kernel->run(context));
    bring_outputs(it, {outputs.data(), wanted});
    return Status();
  });
  add_to_timeline(it, start, {outputs.data(), wanted});
  if (locks_) lock.lock();
  complete(ready, {outputs.data(), wanted}, status);
}

void Step::start_async(const Ready& ready, Lock& lock) {
  const StepPlan::Item& it = item(ready.item);
  lock.unlock();
  const auto run = std::make_shared<AsyncRun>(ready, it.outputs);
  const auto done = [this, run](Status status) {
    // A kernel that throws may have been done before.
    if (run->over.exchange(true)) return;
    const StepPlan::Item& its = item(run->ready.item);
    if (status.ok())
      status = attempt([&] {
        bring_outputs(its, run->outputs);
        return Status();
      });
    add_to_timeline(its, run->start, run->outputs);
    const std::lock_guard guard(mutex_);
    complete(run->ready, run->outputs, status);
    tell_others();
  };
  const Status started = attempt([&] {
    bring_inputs(it, inputs_of(ready));
    run->context.emplace(device_.allocator(), resources_, *of_run_,
                         *options_.cancellation, inputs_of(ready),
                         run->outputs);
    it.async->start(*run->context, done);
    return Status();
  });
  if (!started.ok()) done(started);
  lock.lock();
}

void Step::add_to_timeline(const StepPlan::Item& it, Clock::time_point start,
                           std::span<const Tensor> outputs) {
  if (!options_.timeline) return;
  const auto end = Clock::now();
  std::vector<double> bytes;
  for (const Tensor& tensor : outputs)
    bytes.push_back(tensor.has_buffer() ? static_cast<double>(tensor.bytes())
                                        : 0);
  options_.timeline->add(it.node->name(), std::string(it.node->op().name),
                         start, end, options_.device, std::move(bytes));
}

std::string Step::where(const StepPlan::Item& it) const {
  if (options_.device.empty()) return it.node->describe();
  return fmt::format("{} on {}", it.node->describe(), options_.device);
}

void Step::complete(const Ready& ready, std::span<Tensor> outputs,
                    const Status& status) {
  --in_progress_;
  if (locks_)
    running_.erase(std::find(running_.begin(), running_.end(), ready.item));
  // Who cancelled says why better than the node that happened to be waiting.
  if (!status.ok())
    fail(options_.cancellation->cancelled()
             ? options_.cancellation->reason()
             : status.with_context(where(item(ready.item))));
  if (status_.ok()) send(ready, outputs);
  for (Tensor& input : inputs_of(ready)) input.release();
  for (Tensor& output : outputs) output.release();
  if (!status_.ok()) return;
  if (--ready.iteration->in_progress == 0 && ready.frame->parent)
    clean_up(*ready.frame);
}

void Step::fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
  ready_.clear();
  next_ready_ = 0;
}

Result<std::vector<Tensor>> Step::finish() {
  for (RunScope* scope : plan_.scopes) scope->end_run(*of_run_, status_);
  // A lock that the run still holds is let go here.
  if (of_run_ == &own_run_resources_) own_run_resources_.clear();
  if (!status_.ok()) {
    // Whatever was under way is dropped.
    for (Tensor& slot : root_.live.front()->slots) slot.release();
    root_.live.front()->children.clear();
    // Not kept until the next run: it may hold what a function raised.
    return std::exchange(status_, {});
  }
  for (size_t i = 0; i < fetched_.size(); ++i)
    if (!is_fetched_[i])
      return error(Code::kInvalidArgument,
                   "\"{}\" has no value in this run: it belongs to a branch "
                   "that was not taken",
                   plan_.subgraph.fetches[i].name());
  const Status brought = attempt([&] {
    for (Tensor& tensor : fetched_)
      if (!device_.in_host_memory() || tensor.layout() != Layout::kRowMajor)
        tensor = device_.to_host(tensor);
    return Status();
  });
  if (!brought.ok()) return brought;
  return std::move(fetched_);
}

// ---- Tokens -----------------------------------------------------------------

void Step::make_ready(FrameRun& frame, Iteration& iteration, int number,
                      bool dead) {
  if (!status_.ok()) return;
  ++iteration.in_progress;
  const Ready ready{number, &frame, &iteration, dead};
  // Somebody waits for what is sent, so that comes first.
  if (!item(number).urgent)
    ready_.push_back(ready);
  else if (next_ready_ > 0)
    ready_[--next_ready_] = ready;
  else
    ready_.insert(ready_.begin(), ready);
  if (!locks_ || !options_.several_threads) return;
  wake_.notify_one();
  if (options_.wake_for_ready && ready_.size() - next_ready_ > 1)
    options_.wake->notify();
}

void Step::send(const Ready& ready, std::span<Tensor> outputs) {
  const StepPlan::Item& it = item(ready.item);
  const std::span<Tensor> inputs = inputs_of(ready);
  auto first_input = [&] {
    return ready.dead || inputs.empty() ? Tensor() : std::move(inputs[0]);
  };
  switch (it.kind) {
    case ItemKind::kEnter: enter(ready, first_input()); return;
    case ItemKind::kExit: leave(ready, first_input()); return;
    case ItemKind::kNext: next(ready, first_input()); return;
    default: break;
  }
  Tensor forwarded;
  int taken = -1;  // the output that lives, when only one does
  Tensor which;    // of a merge, once somebody takes it
  if (!ready.dead && it.kind == ItemKind::kNothing && it.inputs > 0)
    forwarded = std::move(inputs[0]);
  if (!ready.dead && it.kind == ItemKind::kSwitch) {
    taken = ready.iteration->has_live[static_cast<size_t>(it.local)] - 1;
    forwarded = std::move(inputs[0]);
  }
  int live = -1;
  if (!ready.dead && it.kind == ItemKind::kMerge) {
    live = ready.iteration->has_live[static_cast<size_t>(it.local)] - 1;
    forwarded = std::move(inputs[static_cast<size_t>(live)]);
  }
  for (size_t e = 0; e < edges_of(it).size(); ++e) {
    const StepPlan::Edge& edge = edges_of(it)[e];
    const bool dead =
        ready.dead || (taken >= 0 && edge.output != StepPlan::kControl &&
                       edge.output != taken);
    if (dead || edge.output == StepPlan::kControl) {
      deliver(*ready.frame, *ready.iteration, edge, Tensor(), dead, false);
      continue;
    }
    if (live >= 0 && edge.output == 1 && !which.has_buffer())
      which = number(live);
    Tensor& source = it.kind == ItemKind::kKernel || it.kind == ItemKind::kRecv
                         ? outputs[static_cast<size_t>(edge.output)]
                     : it.kind == ItemKind::kMerge && edge.output == 1
                         ? which
                         : forwarded;
    // A kernel that had nothing to give.
    if (!source.has_buffer()) {
      deliver(*ready.frame, *ready.iteration, edge, Tensor(), true, false);
      continue;
    }
    const bool last = e + 1 == edges_of(it).size() ||
                      edges_of(it)[e + 1].output != edge.output;
    deliver(*ready.frame, *ready.iteration, edge,
            last ? std::move(source) : source, false, false);
  }
}

void Step::deliver(FrameRun& frame, Iteration& iteration,
                   const StepPlan::Edge& edge, Tensor tensor, bool dead,
                   bool from_enter) {
  if (edge.item == StepPlan::kFetch) {
    const auto i = static_cast<size_t>(edge.slot);
    if (dead) return;
    fetched_[i] = std::move(tensor);
    is_fetched_[i] = 1;
    return;
  }
  const StepPlan::Item& it = item(edge.item);
  const auto local = static_cast<size_t>(it.local);
  const bool control = edge.slot == StepPlan::kControl;
  if (!control && !dead)
    iteration.slots[static_cast<size_t>(edge.slot)] = std::move(tensor);
  if (it.kind != ItemKind::kMerge) {
    if (dead && it.kind != ItemKind::kAwait) ++iteration.dead[local];
    if (--iteration.waits[local] == 0)
      make_ready(frame, iteration, edge.item, iteration.dead[local] > 0);
    return;
  }
  // A merge is ready when its control inputs have come and one input lives, or
  // all are dead. A loop that is not entered never closes, so there the dead
  // entry alone decides.
  bool decided = false;
  if (control) {
    --iteration.waits[local];
    decided = true;
  } else if (!dead) {
    decided = iteration.has_live[local] == 0;
    if (decided) iteration.has_live[local] = edge.slot - it.first_slot + 1;
  } else {
    ++iteration.dead[local];
    if (from_enter) iteration.dead[local] = it.inputs;
    decided = true;
  }
  if (!decided || iteration.waits[local] != 0) return;
  if (iteration.has_live[local] > 0 && (control || !dead))
    make_ready(frame, iteration, edge.item, false);
  else if (iteration.has_live[local] == 0 && iteration.dead[local] == it.inputs)
    make_ready(frame, iteration, edge.item, true);
}

}  // namespace rondo
