#include "rondo/cluster/session_service.h"

#include <algorithm>

#include "rondo/base/log.h"
#include "rondo/cluster/answer_on_thread.h"
#include "rondo/cluster/methods.h"
#include "rondo/cluster/part_io.h"
#include "rondo/cluster/session_call.h"
#include "rondo/cluster/timeline_io.h"
#include "rondo/graph/subgraph_io.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

constexpr size_t kMostCancelled = 1024;
// A client that is there may still take a while from the answer to its call to
// its first word on the link, however short the lease is.
constexpr Duration kLeastFirstLease = std::chrono::seconds(30);

Status no_session(uint64_t session) {
  return error(Code::kCancelled,
               "this task has no session {:x}: it was closed, or was collected "
               "because its client was not heard of; make a new one",
               session);
}

// What a call names, in the session's graph.
struct Wanted {
  std::vector<Value> fetches, feeds;
  std::vector<Node*> targets;
};

Result<Wanted> wanted_of(const Graph& graph, const SessionCall& call) {
  Wanted wanted;
  try {
    const auto still = graph.still();
    for (const std::string& name : call.fetches)
      wanted.fetches.push_back(graph.value(name));
    for (const std::string& name : call.feeds)
      wanted.feeds.push_back(graph.value(name));
    for (const std::string& name : call.targets) {
      Node* node = graph.find(name);
      if (!node)
        return error(Code::kInvalidArgument,
                     "the session's graph has no node \"{}\"", name);
      wanted.targets.push_back(node);
    }
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
  return wanted;
}

}  // namespace

struct SessionService::Entry {
  Graph graph;
  std::unique_ptr<Session> session;
  // Guarded by the service's mutex.
  std::set<uint64_t> links;
  Deadline lease = Deadline::never();  // while there is no link

  // Held while the graph grows, which may take a while.
  Mutex growing;
  Mutex mutex;
  std::map<int64_t, Cancellation*> runs RONDO_GUARDED_BY(mutex);
  // Runs whose cancellation came first; the latest.
  std::map<int64_t, Status> cancelled RONDO_GUARDED_BY(mutex);
};

// Has a run on the session's list for as long as it goes on, however it ends.
class SessionService::Running {
 public:
  Running(Entry& entry, int64_t run) : entry_(entry), run_(run) {
    const MutexLock lock(entry_.mutex);
    entry_.runs[run_] = &cancellation;
    if (const auto at = entry_.cancelled.find(run_);
        at != entry_.cancelled.end())
      cancellation.cancel(at->second);
  }
  ~Running() {
    const MutexLock lock(entry_.mutex);
    // A client that numbers badly may have given another one its number.
    if (const auto at = entry_.runs.find(run_);
        at != entry_.runs.end() && at->second == &cancellation)
      entry_.runs.erase(at);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Cancellation cancellation;

 private:
  Entry& entry_;
  const int64_t run_;
};

SessionService::SessionService(Open open, RunThreads& threads, Duration lease)
    : open_(std::move(open)),
      threads_(threads),
      lease_(lease),
      sweeper_([this] { sweep(); }) {}

SessionService::~SessionService() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  sweeper_.join();
  close_all();
}

Result<SessionInfo> SessionService::create(const ClusterSessionOptions& options,
                                           Deadline deadline) {
  auto entry = std::make_shared<Entry>();
  RONDO_ASSIGN_OR_RETURN(entry->session,
                         open_(entry->graph, options, deadline));
  SessionInfo info{random_u64(), entry->session->devices()};
  const MutexLock lock(mutex_);
  entry->lease = Deadline(std::max(lease_, kLeastFirstLease));
  sessions_[info.session] = std::move(entry);
  changed_.notify_all();
  return info;
}

std::shared_ptr<SessionService::Entry> SessionService::find(
    uint64_t session) const {
  const MutexLock lock(mutex_);
  const auto at = sessions_.find(session);
  return at == sessions_.end() ? nullptr : at->second;
}

Status SessionService::close(uint64_t session) {
  std::shared_ptr<Entry> entry;
  {
    const MutexLock lock(mutex_);
    const auto at = sessions_.find(session);
    if (at == sessions_.end()) return no_session(session);
    entry = std::move(at->second);
    sessions_.erase(at);
  }
  // Runs that go on end, and keep the entry until they have.
  entry->session->close();
  return {};
}

void SessionService::close_all() {
  std::map<uint64_t, std::shared_ptr<Entry>> all;
  {
    const MutexLock lock(mutex_);
    all.swap(sessions_);
  }
  for (auto& [number, entry] : all) entry->session->close();
}

bool SessionService::serve(uint64_t link, LinkCall& call,
                           LinkServer::Answer& answer) {
  auto tell = [&](const Status& status) {
    if (status.ok())
      answer(LinkAnswer{});
    else
      answer(status);
  };
  switch (static_cast<CallMethod>(call.method)) {
    case CallMethod::kAttach: tell(attach(link, call)); return true;
    case CallMethod::kSessionCancel: tell(cancel(call)); return true;
    case CallMethod::kExtend:
      answer_on_thread(threads_, std::move(answer),
                       [this, call = std::move(call)] { return extend(call); });
      return true;
    case CallMethod::kSessionRun:
      answer_on_thread(threads_, std::move(answer),
                       [this, call = std::move(call)] { return run(call); });
      return true;
    case CallMethod::kSessionExplain:
      answer_on_thread(
          threads_, std::move(answer),
          [this, call = std::move(call)] { return explain(call); });
      return true;
    default: return false;
  }
}

Status SessionService::attach(uint64_t link, const LinkCall& call) {
  wire::Reader in(call.body);
  const auto session = static_cast<uint64_t>(in.number());
  if (!in.ok()) return bad_call("Attach");
  const MutexLock lock(mutex_);
  const auto at = sessions_.find(session);
  if (at == sessions_.end()) return no_session(session);
  at->second->links.insert(link);
  at->second->lease = Deadline::never();
  return {};
}

Result<LinkAnswer> SessionService::extend(const LinkCall& call) {
  wire::Reader in(call.body);
  const auto session = static_cast<uint64_t>(in.number());
  const int64_t first = in.number();
  if (!in.ok() || first < 0 || call.tensors.size() != 1)
    return bad_call("Extend");
  const auto entry = find(session);
  if (!entry) return no_session(session);
  RONDO_ASSIGN_OR_RETURN(const std::string_view bytes,
                         bytes_of(call.tensors[0]));
  const MutexLock lock(entry->growing);
  extend_graph(entry->graph, static_cast<size_t>(first), bytes);
  return LinkAnswer{};
}

Result<LinkAnswer> SessionService::run(const LinkCall& call) {
  RONDO_ASSIGN_OR_RETURN(SessionCall what, SessionCall::decode(call.body));
  const auto entry = find(what.session);
  if (!entry) return no_session(what.session);
  if (what.feeds.size() != call.tensors.size()) return bad_call("SessionRun");
  RONDO_ASSIGN_OR_RETURN(const Wanted wanted, wanted_of(entry->graph, what));
  std::vector<Feed> feeds;
  for (size_t i = 0; i < wanted.feeds.size(); ++i)
    feeds.push_back({wanted.feeds[i], call.tensors[i]});
  Running running(*entry, what.run);
  RunOptions options;
  if (what.time_allowed >= 0) options.timeout = Duration(what.time_allowed);
  options.cancellation = &running.cancellation;
  Timeline timeline;
  if (what.traced) options.timeline = &timeline;
  auto result =
      entry->session->run(wanted.fetches, feeds, wanted.targets, options);
  if (!result.ok()) return result.status();
  if (what.traced) result->push_back(timeline_to_tensor(timeline));
  return LinkAnswer{{}, std::move(*result)};
}

Result<LinkAnswer> SessionService::explain(const LinkCall& call) {
  RONDO_ASSIGN_OR_RETURN(SessionCall what, SessionCall::decode(call.body));
  const auto entry = find(what.session);
  if (!entry) return no_session(what.session);
  RONDO_ASSIGN_OR_RETURN(const Wanted wanted, wanted_of(entry->graph, what));
  RONDO_ASSIGN_OR_RETURN(std::string text,
                         entry->session->explain_placement(
                             wanted.fetches, wanted.feeds, wanted.targets));
  return LinkAnswer{wire::Writer().text(text).take(), {}};
}

Status SessionService::cancel(const LinkCall& call) {
  wire::Reader in(call.body);
  const auto session = static_cast<uint64_t>(in.number());
  const int64_t run = in.number();
  const Status why(Code::kCancelled, std::string(in.text()));
  if (!in.ok()) return bad_call("SessionCancel");
  const auto entry = find(session);
  if (!entry) return no_session(session);
  const MutexLock lock(entry->mutex);
  // The run takes itself off the list before it goes.
  if (const auto at = entry->runs.find(run); at != entry->runs.end()) {
    at->second->cancel(why);
    return {};
  }
  entry->cancelled.emplace(run, why);
  if (entry->cancelled.size() > kMostCancelled)
    entry->cancelled.erase(entry->cancelled.begin());
  return {};
}

void SessionService::gone(uint64_t link) {
  const MutexLock lock(mutex_);
  for (auto& [number, entry] : sessions_)
    if (entry->links.erase(link) > 0 && entry->links.empty())
      entry->lease = Deadline(lease_);
  changed_.notify_all();
}

// Closes the sessions whose lease is over.
void SessionService::sweep() {
  for (;;) {
    std::vector<std::shared_ptr<Entry>> over;
    {
      const MutexLock lock(mutex_);
      if (closing_) return;
      Duration next = std::chrono::hours(1);
      std::erase_if(sessions_, [&](auto& item) {
        const Duration left = item.second->lease.left();
        if (left > Duration::zero()) {
          next = std::min(next, left);
          return false;
        }
        over.push_back(item.second);
        return true;
      });
      if (over.empty()) {
        changed_.wait_for(mutex_, next);
        continue;
      }
    }
    for (const auto& entry : over) {
      log(LogLevel::kInfo, "collected a session whose client is gone");
      entry->session->close();
    }
  }
}

int64_t SessionService::size() const {
  const MutexLock lock(mutex_);
  return static_cast<int64_t>(sessions_.size());
}

}  // namespace rondo
