#include "rondo/cluster/remote_session.h"

#include "rondo/cluster/methods.h"
#include "rondo/cluster/part_io.h"
#include "rondo/cluster/timeline_io.h"
#include "rondo/graph/subgraph_io.h"

namespace rondo {
namespace {

// To place a step and tell of it; to say goodbye.
constexpr Duration kExplainTime = std::chrono::minutes(10);
constexpr Duration kCloseTime = std::chrono::seconds(5);

}  // namespace

Result<std::unique_ptr<RemoteSession>> RemoteSession::open(
    Graph& of, const std::string& address, const PeerOptions& peer,
    const ClusterSessionOptions& options, Deadline deadline) {
  RONDO_ASSIGN_OR_RETURN(Peer master, reach(address, "", peer, deadline));
  RONDO_ASSIGN_OR_RETURN(SessionInfo info,
                         master.control->create_session(options, deadline));
  std::unique_ptr<RemoteSession> made(
      new RemoteSession(of, std::move(master), std::move(info)));
  RONDO_RETURN_IF_ERROR(
      made->master_.link
          ->call({number(CallMethod::kAttach),
                  wire::Writer()
                      .number(static_cast<int64_t>(made->session_))
                      .take(),
                  {}},
                 deadline)
          .status());
  return made;
}

RemoteSession::~RemoteSession() { close(); }

void RemoteSession::close() {
  if (closed_.exchange(true)) return;
  // A master that does not answer collects the session by itself.
  (void)master_.control->close_session(session_, Deadline(kCloseTime)).ok();
}

Resources& RemoteSession::resources() {
  throw Error(Code::kInvalidArgument,
              "the variables of this session are on the tasks of its cluster");
}

Status RemoteSession::extend(Deadline deadline) {
  const MutexLock lock(mutex_);
  std::string nodes;
  size_t all = 0;
  {
    const auto still = graph.still();
    all = graph.nodes().size();
    if (all == sent_) return {};
    try {
      nodes = to_graph_def_from(graph, sent_);
    } catch (const Error& e) {
      return Status(e.code(), e.what());
    }
  }
  RONDO_RETURN_IF_ERROR(master_.link
                            ->call({number(CallMethod::kExtend),
                                    wire::Writer()
                                        .number(static_cast<int64_t>(session_))
                                        .number(static_cast<int64_t>(sent_))
                                        .take(),
                                    {bytes_tensor(nodes)}},
                                   deadline)
                            .status());
  sent_ = all;
  return {};
}

SessionCall RemoteSession::call_of(const std::vector<Value>& fetches,
                                   const std::vector<Node*>& targets) const {
  SessionCall call;
  call.session = session_;
  for (const Value& fetch : fetches) call.fetches.push_back(fetch.name());
  for (const Node* target : targets) call.targets.push_back(target->name());
  return call;
}

Result<std::string> RemoteSession::explain_placement(
    const std::vector<Value>& fetches, const std::vector<Value>& feeds,
    const std::vector<Node*>& targets) {
  if (closed_) return error(Code::kCancelled, "the session was closed");
  const Deadline deadline(kExplainTime);
  RONDO_RETURN_IF_ERROR(extend(deadline));
  SessionCall call = call_of(fetches, targets);
  for (const Value& feed : feeds) call.feeds.push_back(feed.name());
  RONDO_ASSIGN_OR_RETURN(
      const LinkAnswer answer,
      master_.link->call(
          {number(CallMethod::kSessionExplain), call.encode(), {}}, deadline));
  wire::Reader in(answer.body);
  std::string text(in.text());
  if (!in.ok()) return bad_call("SessionExplain");
  return text;
}

Result<std::vector<Tensor>> RemoteSession::run(
    const std::vector<Value>& fetches, const std::vector<Feed>& feeds,
    const std::vector<Node*>& targets, const RunOptions& options) {
  if (closed_) return error(Code::kCancelled, "the session was closed");
  const bool limited = options.timeout != Duration::max();
  const Deadline end = options.deadline();
  RONDO_RETURN_IF_ERROR(extend(end));
  // The master keeps to what is left of the time, and the link notices when it
  // is gone; what is added here is for the way.
  const Duration left = end.left();
  const Deadline deadline =
      limited ? Deadline(left + kCloseTime) : Deadline::never();
  SessionCall call = call_of(fetches, targets);
  call.run = next_run_++;
  call.time_allowed = limited ? left.count() : kNoLimit;
  call.traced = options.timeline != nullptr;
  std::vector<Tensor> fed;
  for (const Feed& feed : feeds) {
    call.feeds.push_back(feed.value.name());
    fed.push_back(feed.tensor);
  }
  int wake = 0;
  if (options.cancellation)
    wake = options.cancellation->on_cancel([&, run = call.run] {
      master_.link->call({number(CallMethod::kSessionCancel),
                          wire::Writer()
                              .number(static_cast<int64_t>(session_))
                              .number(run)
                              .text(options.cancellation->reason().message())
                              .take(),
                          {}},
                         [](const Result<LinkAnswer>&) {});
    });
  const double sent_us = call.traced ? options.timeline->now_us() : 0;
  auto answer = master_.link->call(
      {number(CallMethod::kSessionRun), call.encode(), std::move(fed)},
      deadline);
  if (options.cancellation) options.cancellation->forget(wake);
  if (!answer.ok()) return answer.status();
  if (call.traced && !answer->tensors.empty()) {
    RONDO_RETURN_IF_ERROR(
        add_timeline(answer->tensors.back(), sent_us, *options.timeline));
    answer->tensors.pop_back();
  }
  if (answer->tensors.size() != fetches.size())
    return error(Code::kInternal, "{} answered with {} tensors to {} fetches",
                 master_.name, answer->tensors.size(), fetches.size());
  return std::move(answer->tensors);
}

}  // namespace rondo
