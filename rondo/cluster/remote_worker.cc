#include "rondo/cluster/remote_worker.h"

#include "rondo/cluster/methods.h"
#include "rondo/cluster/part_io.h"
#include "rondo/cluster/timeline_io.h"

namespace rondo {
namespace {

// To compile a graph, and to reach the tasks that it takes tensors from.
constexpr Duration kAddTime = std::chrono::minutes(10);

int64_t time_allowed(const Deadline& deadline) {
  const Duration left = deadline.left();
  return left > std::chrono::hours(24 * 365) ? kNoLimit : left.count();
}

uint32_t number(Method method) { return static_cast<uint32_t>(method); }

// A failure of the link names the task already; one of the task's own does not.
Status on_task(const Status& status, const std::string& task) {
  if (status.message().find(task) != std::string::npos) return status;
  return status.with_context(task);
}

}  // namespace

Result<int64_t> RemoteWorker::add(std::vector<Part> parts) {
  const Deadline deadline(kAddTime);
  Tensor bytes;
  try {
    bytes = parts_to_tensor(parts);
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
  auto answer =
      link_->call({number(Method::kAdd),
                   wire::Writer().number(time_allowed(deadline)).take(),
                   {std::move(bytes)}},
                  deadline);
  if (!answer.ok()) return on_task(answer.status(), task_);
  wire::Reader in(answer->body);
  const int64_t graph = in.number();
  if (!in.ok()) return error(Code::kInternal, "{} gave no number", task_);
  return graph;
}

void RemoteWorker::remove(int64_t graph) {
  link_->call(
      {number(Method::kRemove), wire::Writer().number(graph).take(), {}},
      [](const Result<LinkAnswer>&) {});
}

void RemoteWorker::run(StepCall call, Done done) {
  Timeline* const timeline = call.timeline;
  const double sent_us = timeline ? timeline->now_us() : 0;
  link_->call({number(Method::kRun),
               wire::Writer()
                   .number(call.graph)
                   .number(call.step)
                   .number(time_allowed(call.deadline))
                   .number(timeline ? 1 : 0)
                   .take(),
               std::move(call.feeds)},
              [done = std::move(done), task = task_, timeline,
               sent_us](Result<LinkAnswer> answer) {
                if (!answer.ok()) return done(on_task(answer.status(), task));
                if (timeline && !answer->tensors.empty()) {
                  // The step waits for every answer, so its timeline is there.
                  Status s =
                      add_timeline(answer->tensors.back(), sent_us, *timeline);
                  if (!s.ok()) return done(on_task(s, task));
                  answer->tensors.pop_back();
                }
                done(std::move(answer->tensors));
              });
}

void RemoteWorker::cancel(int64_t step, const Status& why) {
  link_->call({number(Method::kCancel),
               wire::Writer()
                   .number(step)
                   .number(static_cast<int64_t>(why.code()))
                   .text(why.message())
                   .take(),
               {}},
              [](const Result<LinkAnswer>&) {});
}

void get_over(Link& link, int64_t step, const std::string& key,
              Rendezvous::Done done) {
  link.call(
      {number(Method::kGet), wire::Writer().number(step).text(key).take(), {}},
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
