#include "rondo/cluster/remote_worker.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "rondo/cluster/methods.h"
#include "rondo/cluster/part_io.h"
#include "rondo/cluster/timeline_io.h"

namespace rondo {
namespace {

// The most that it may take to compile a graph, and to reach the tasks that it
// takes tensors from.
constexpr Duration kAddTime = std::chrono::minutes(10);

int64_t time_allowed(const Deadline& deadline) {
  const Duration left = deadline.left();
  return left > std::chrono::hours(24 * 365) ? kNoLimit : left.count();
}

// A failure of the link names the task already; one of the task's own does not.
Status on_task(const Status& status, const std::string& task) {
  const std::string& text = status.message();
  const size_t at = text.find(task);
  // "/job:worker/task:1" is not in "/job:worker/task:10".
  if (at != std::string::npos && (at + task.size() == text.size() ||
                                  !std::isdigit(text[at + task.size()])))
    return status;
  return status.with_context(task);
}

LinkCall link_call(Worker::StepCall call) {
  return {number(CallMethod::kRun),
          wire::Writer()
              .number(call.graph)
              .number(call.step)
              .number(time_allowed(call.deadline))
              .number(call.timeline ? 1 : 0)
              .take(),
          std::move(call.feeds)};
}

// A step that a task was asked to run.
class Sent {
 public:
  Sent(const Worker::StepCall& call, std::string task)
      : task_(std::move(task)),
        // It is there until the step has the answer.
        timeline_(call.timeline),
        sent_us_(timeline_ ? timeline_->now_us() : 0) {}

  // What the task answered.
  Result<std::vector<Tensor>> fetched(Result<LinkAnswer> answer) const {
    if (!answer.ok()) return on_task(answer.status(), task_);
    if (timeline_ && !answer->tensors.empty()) {
      const Status added =
          add_timeline(answer->tensors.back(), sent_us_, *timeline_);
      if (!added.ok()) return on_task(added, task_);
      answer->tensors.pop_back();
    }
    return std::move(answer->tensors);
  }

 private:
  const std::string task_;
  Timeline* const timeline_;
  const double sent_us_;
};

// A graph that another task is adding, and who waits for it. Once nobody does,
// the graph goes as soon as it is there.
class Adding {
 public:
  explicit Adding(std::weak_ptr<PeerLink> link) : link_(std::move(link)) {}

  void answer(Result<LinkAnswer> answer) {
    {
      const MutexLock lock(mutex_);
      if (!given_up_) {
        answer_.emplace(std::move(answer));
        there_.notify_all();
        return;
      }
    }
    const auto link = link_.lock();
    if (!answer.ok() || !link) return;
    // Its number is all that there is.
    link->call({number(CallMethod::kRemove), std::move(answer->body), {}},
               [](const Result<LinkAnswer>&) {});
  }

  Result<LinkAnswer> wait(const Deadline& deadline, const Cancellation& run) {
    const MutexLock lock(mutex_);
    while (!answer_) {
      const bool cancelled = run.cancelled();
      given_up_ = cancelled || deadline.passed();
      if (cancelled) return run.reason();
      if (given_up_)
        return error(Code::kTimeout, "the graph was not compiled in time");
      there_.wait_for(mutex_,
                      std::min<Duration>(deadline.left(), seconds(0.1)));
    }
    return std::move(*answer_);
  }

 private:
  const std::weak_ptr<PeerLink> link_;
  Mutex mutex_;
  CondVar there_;
  bool given_up_ RONDO_GUARDED_BY(mutex_) = false;
  std::optional<Result<LinkAnswer>> answer_ RONDO_GUARDED_BY(mutex_);
};

}  // namespace

Result<int64_t> RemoteWorker::add(std::vector<Part> parts, Deadline given,
                                  const Cancellation& run) {
  const Deadline deadline(std::min(kAddTime, given.left()));
  Tensor bytes;
  try {
    bytes = parts_to_tensor(parts);
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
  const auto adding = std::make_shared<Adding>(link_);
  link_->call({number(CallMethod::kAdd),
               wire::Writer().number(time_allowed(deadline)).take(),
               {std::move(bytes)}},
              [adding](Result<LinkAnswer> result) {
                adding->answer(std::move(result));
              });
  auto answer = adding->wait(deadline, run);
  if (!answer.ok()) return on_task(answer.status(), task_);
  wire::Reader in(answer->body);
  const int64_t graph = in.number();
  if (!in.ok()) return error(Code::kInternal, "{} gave no number", task_);
  return graph;
}

void RemoteWorker::remove(int64_t graph) {
  link_->call(
      {number(CallMethod::kRemove), wire::Writer().number(graph).take(), {}},
      [](const Result<LinkAnswer>&) {});
}

void RemoteWorker::run(StepCall call, Done done) {
  const Sent sent(call, task_);
  link_->call(link_call(std::move(call)),
              [done = std::move(done), sent](Result<LinkAnswer> answer) {
                done(sent.fetched(std::move(answer)));
              });
}

Result<std::vector<Tensor>> RemoteWorker::run_here(StepCall call) {
  const Sent sent(call, task_);
  const int64_t step = call.step;
  const Deadline last = last_word(call.deadline);
  auto fetched = sent.fetched(link_->call(link_call(std::move(call)), last));
  // It may be nobody but this thread whose time is over.
  if (fetched.status().code() == Code::kTimeout) cancel(step, fetched.status());
  return fetched;
}

void RemoteWorker::cancel(int64_t step, const Status& why) {
  link_->call({number(CallMethod::kCancel),
               wire::Writer()
                   .number(step)
                   .number(static_cast<int64_t>(why.code()))
                   .text(why.message())
                   .take(),
               {}},
              [](const Result<LinkAnswer>&) {});
}

void get_over(PeerLink& link, int64_t step, const std::string& key,
              Rendezvous::Done done) {
  link.call({number(CallMethod::kGet),
             wire::Writer().number(step).text(key).take(),
             {}},
            [done = std::move(done)](Result<LinkAnswer> answer) {
              if (!answer.ok()) return done(answer.status());
              wire::Reader in(answer->body);
              const bool dead = in.number() != 0;
              if (!in.ok() || answer->tensors.size() != (dead ? 0 : 1))
                return done(error(Code::kInternal, "no parcel came"));
              Rendezvous::Parcel parcel;
              parcel.dead = dead;
              if (!dead) parcel.tensor = std::move(answer->tensors[0]);
              done(std::move(parcel));
            });
}

}  // namespace rondo
