#include "rondo/cluster/worker_service.h"

#include "rondo/cluster/answer_on_thread.h"
#include "rondo/cluster/methods.h"
#include "rondo/cluster/part_io.h"
#include "rondo/cluster/timeline_io.h"

namespace rondo {
namespace {

Status master_gone() {
  return error(Code::kCancelled, "the master of this step is gone");
}

Deadline deadline_in(int64_t time_allowed) {
  return time_allowed < 0 ? Deadline::never()
                          : Deadline(Duration(time_allowed));
}

}  // namespace

WorkerService::WorkerService(Worker& worker, StepTable& steps,
                             RunThreads& threads, Prepare prepare)
    : worker_(worker),
      steps_(steps),
      threads_(threads),
      prepare_(std::move(prepare)) {}

bool WorkerService::serve(uint64_t link, LinkCall& call,
                          LinkServer::Answer& answer) {
  switch (static_cast<CallMethod>(call.method)) {
    case CallMethod::kGet: get(call, std::move(answer)); return true;
    case CallMethod::kAdd: {
      const MutexLock lock(mutex_);
      owned_.try_emplace(link);
    }
      // Compiling takes a while, and so may reaching the other tasks.
      answer_on_thread(
          threads_, std::move(answer),
          [this, link, call = std::move(call)] { return add(link, call); });
      return true;
    case CallMethod::kRemove: remove(link, call, answer); return true;
    case CallMethod::kRun:
      run(link, std::move(call), std::move(answer));
      return true;
    case CallMethod::kCancel: cancel(call, answer); return true;
    default: return false;
  }
}

void WorkerService::get(const LinkCall& call, LinkServer::Answer answer) {
  wire::Reader in(call.body);
  const int64_t step = in.number();
  const std::string key(in.text());
  if (!in.ok()) return answer(bad_call("Get"));
  steps_.get(step, key,
             [answer = std::move(answer)](Result<Rendezvous::Parcel> parcel) {
               if (!parcel.ok()) return answer(parcel.status());
               LinkAnswer out;
               out.body = wire::Writer().number(parcel->dead ? 1 : 0).take();
               if (!parcel->dead)
                 out.tensors.push_back(std::move(parcel->tensor));
               answer(std::move(out));
             });
}

Result<LinkAnswer> WorkerService::add(uint64_t link, const LinkCall& call) {
  wire::Reader in(call.body);
  const Deadline deadline = deadline_in(in.number());
  if (!in.ok() || call.tensors.size() != 1) return bad_call("Add");
  RONDO_ASSIGN_OR_RETURN(auto parts, parts_from_tensor(call.tensors[0]));
  RONDO_RETURN_IF_ERROR(prepare_(parts, deadline));
  RONDO_ASSIGN_OR_RETURN(const int64_t graph,
                         worker_.add(std::move(parts), deadline, {}));
  bool late = false;
  {
    const MutexLock lock(mutex_);
    const auto at = owned_.find(link);
    late = at == owned_.end();
    if (!late) at->second.graphs.insert(graph);
  }
  if (late) {
    worker_.remove(graph);
    return master_gone();
  }
  return LinkAnswer{wire::Writer().number(graph).take(), {}};
}

void WorkerService::remove(uint64_t link, const LinkCall& call,
                           LinkServer::Answer& answer) {
  wire::Reader in(call.body);
  const int64_t graph = in.number();
  if (!in.ok()) return answer(bad_call("Remove"));
  bool there = false;
  {
    const MutexLock lock(mutex_);
    const auto at = owned_.find(link);
    there = at != owned_.end() && at->second.graphs.erase(graph) > 0;
  }
  if (there) worker_.remove(graph);
  answer(LinkAnswer{});
}

void WorkerService::run(uint64_t link, LinkCall call,
                        LinkServer::Answer answer) {
  wire::Reader in(call.body);
  Worker::StepCall step;
  step.graph = in.number();
  step.step = in.number();
  step.deadline = deadline_in(in.number());
  std::shared_ptr<Timeline> timeline;
  if (in.number() != 0) timeline = std::make_shared<Timeline>();
  step.timeline = timeline.get();
  step.feeds = std::move(call.tensors);
  if (!in.ok()) return answer(bad_call("Run"));
  Status refused;
  {
    const MutexLock lock(mutex_);
    const auto at = owned_.find(link);
    if (at == owned_.end() || !at->second.graphs.contains(step.graph))
      refused = error(Code::kInvalidArgument,
                      "this task has no graph {} of this session: it was "
                      "started anew, or the session was closed",
                      step.graph);
    else if (!at->second.steps.insert(step.step).second)
      refused =
          error(Code::kInvalidArgument, "step {} runs already", step.step);
    else
      std::erase_if(at->second.sent,
                    [&](int64_t over) { return !steps_.holds(over); });
  }
  if (!refused.ok()) return answer(refused);
  const int64_t id = step.step;
  worker_.run(std::move(step),
              [this, link, id, timeline,
               answer = std::move(answer)](Result<std::vector<Tensor>> result) {
                end_step(link, id);
                if (!result.ok()) return answer(result.status());
                if (timeline) result->push_back(timeline_to_tensor(*timeline));
                answer(LinkAnswer{{}, std::move(*result)});
              });
}

void WorkerService::end_step(uint64_t link, int64_t step) {
  {
    const MutexLock lock(mutex_);
    if (const auto at = owned_.find(link); at != owned_.end()) {
      at->second.steps.erase(step);
      if (steps_.holds(step)) at->second.sent.insert(step);
      return;
    }
  }
  steps_.abort(step, master_gone());
}

void WorkerService::cancel(const LinkCall& call, LinkServer::Answer& answer) {
  wire::Reader in(call.body);
  const int64_t step = in.number();
  const int64_t code = in.number();
  const std::string message(in.text());
  if (!in.ok() || code <= 0 || code > static_cast<int>(Code::kOutOfRange))
    return answer(bad_call("Cancel"));
  worker_.cancel(step, Status(static_cast<Code>(code), message));
  answer(LinkAnswer{});
}

void WorkerService::gone(uint64_t link) {
  Owned left;
  {
    const MutexLock lock(mutex_);
    const auto at = owned_.find(link);
    if (at == owned_.end()) return;
    left = std::move(at->second);
    owned_.erase(at);
  }
  for (const int64_t step : left.steps) worker_.cancel(step, master_gone());
  for (const int64_t step : left.sent) steps_.abort(step, master_gone());
  for (const int64_t graph : left.graphs) worker_.remove(graph);
}

int64_t WorkerService::graphs() const {
  const MutexLock lock(mutex_);
  int64_t all = 0;
  for (const auto& [link, owned] : owned_)
    all += static_cast<int64_t>(owned.graphs.size());
  return all;
}

}  // namespace rondo
