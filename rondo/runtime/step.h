// Step: one run of a StepPlan.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/kernels/cancellation.h"
#include "rondo/runtime/frame_run.h"
#include "rondo/runtime/rendezvous.h"
#include "rondo/runtime/step_plan.h"
#include "rondo/runtime/step_wake.h"
#include "rondo/runtime/timeline.h"

namespace rondo {

// Runs its plan any number of times, once at a time, and keeps its memory in
// between. Tokens arrive at items; an item that has all it waits for joins the
// ready list; threads that work on the step take items off the list, run them
// without holding the lock, and send their tokens on. A token may be dead:
// there is no value because a branch was not taken; what needs it is dead too.
class Step {
 public:
  Step(const StepPlan& plan, Device& device, Resources& resources);

  struct Options {
    Cancellation* cancellation = nullptr;  // of this run alone
    Deadline deadline = Deadline::never();
    Timeline* timeline = nullptr;
    bool several_threads = false;  // will call work()
    // For a part of a step that has others, on other devices: whose it is,
    // where Send and Recv meet, what the parts keep together while they run,
    // and who is told that there is something to do or that it is over.
    std::string_view device = {};
    Rendezvous* rendezvous = nullptr;
    Resources* run_resources = nullptr;
    StepWake* wake = nullptr;
    bool wake_for_ready = false;  // also when one thread made several ready
  };
  // What the next run is fed, in the plan's order, in the host's memory;
  // begin() takes it.
  std::vector<Tensor>& feeds() { return feeds_; }
  // Sets up a run. What goes wrong with its feeds, finish() tells.
  void begin(const Options& options);
  // Works on the run until it is over; several threads may at once.
  void work();
  // Works on it until there is nothing to do at the moment; whether it is over.
  bool work_some();
  // After work() has returned everywhere. What was fetched is in the host's
  // memory.
  Result<std::vector<Tensor>> finish();

 private:
  struct Ready {
    int item;
    FrameRun* frame;
    Iteration* iteration;
    bool dead;
  };
  struct AsyncRun;
  using Lock = std::unique_lock<std::mutex>;

  const StepPlan::Item& item(int number) const {
    return plan_.items[static_cast<size_t>(number)];
  }
  void run_one(const Ready& ready, std::vector<Tensor>& outputs, Lock& lock);
  void run_kernel(const Ready& ready, std::vector<Tensor>& outputs, Lock& lock);
  void start_async(const Ready& ready, Lock& lock);
  void bring_inputs(const StepPlan::Item& it, std::span<Tensor> inputs) const;
  void bring_outputs(const StepPlan::Item& it, std::span<Tensor> outputs) const;
  Status take_feeds(Iteration& iteration);
  Status decide(const Ready& ready) const;
  Tensor number(int64_t value) const;
  void send_parcel(const Ready& ready, Lock& lock);
  void start_recv(const Ready& ready, Lock& lock);
  void end_recv(Ready ready, Result<Rendezvous::Parcel> parcel,
                Clock::time_point start);
  std::string where(const StepPlan::Item& it) const;
  void add_to_timeline(const StepPlan::Item& it, Clock::time_point start,
                       std::span<const Tensor> outputs = {});
  std::vector<Tensor> take_outputs();
  void look_for_an_end();
  Status late() const;
  bool run_next(std::vector<Tensor>& outputs, Lock& lock);
  bool tell_cancelled(Lock& lock);
  void tell_others();
  void complete(const Ready& ready, std::span<Tensor> outputs,
                const Status& status);
  bool wait(Lock& lock);
  std::span<Tensor> inputs_of(const Ready& ready) const;
  std::span<const StepPlan::Edge> edges_of(const StepPlan::Item& it) const {
    return {plan_.edges.data() + it.first_edge, static_cast<size_t>(it.edges)};
  }
  void send(const Ready& ready, std::span<Tensor> outputs);
  void deliver(FrameRun& frame, Iteration& iteration,
               const StepPlan::Edge& edge, Tensor tensor, bool dead,
               bool from_enter);
  void make_ready(FrameRun& frame, Iteration& iteration, int number, bool dead);
  void enter(const Ready& ready, const Tensor& tensor);
  void leave(const Ready& ready, const Tensor& tensor);
  void next(const Ready& ready, const Tensor& tensor);
  Iteration& add_iteration(FrameRun& frame);
  void to_edges(FrameRun& frame, Iteration& iteration, int number,
                const Tensor& tensor, bool dead);
  FrameRun& child_of(FrameRun& frame, Iteration& iteration, int target);
  void drop_oldest(FrameRun& frame);
  void drop(FrameRun& frame);
  void clean_up(FrameRun& frame);
  void fail(Status status);
  bool over() const {
    return in_progress_ == 0 && next_ready_ == ready_.size();
  }

  const StepPlan& plan_;
  Device& device_;
  Resources& resources_;
  Resources own_run_resources_;
  Resources* of_run_ = nullptr;  // of this run alone
  std::vector<Tensor> feeds_;
  Options options_;
  bool locks_ = false;  // whether more than one thread may be in here

  std::mutex mutex_;
  std::condition_variable wake_;
  // All guarded by mutex_, where locks_.
  std::vector<Ready> ready_;  // first come, first served
  size_t next_ready_ = 0;     // those before it are taken
  int in_progress_ = 0;       // taken and not complete
  std::vector<int> running_;  // which they are, where locks_
  int latest_ = -1;           // the item that was taken last
  bool told_to_cancel_ = false;
  FrameRun root_;
  // Frames and iterations that are over, by number of the frame, whose memory
  // the next ones use.
  std::vector<std::vector<std::unique_ptr<FrameRun>>> spare_frames_;
  std::vector<std::vector<std::unique_ptr<Iteration>>> spare_iterations_;
  // Memory for what kernels give, of threads that do not work at the moment.
  std::vector<std::vector<Tensor>> spare_outputs_;
  Status status_;
  std::vector<Tensor> fetched_;
  std::vector<char> is_fetched_;
};

}  // namespace rondo
