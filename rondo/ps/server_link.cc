#include "rondo/ps/server_link.h"

#include <algorithm>

#include "rondo/ps/kv_server.h"
#include "rondo/rendezvous/job_server.h"
#include "rondo/transport/card.h"

namespace rondo {
namespace {

// Between two looks for a server that is not there, and for one of them.
constexpr Duration kPause = std::chrono::milliseconds(50);
constexpr Duration kAttempt = std::chrono::seconds(5);
// A server says itself that a wait is over; one that does not, within this
// time, cannot be reached.
constexpr Duration kGrace = std::chrono::seconds(2);

// Behind this nothing of it is written to memory of ours, and its thread is not
// in answered(). Who is about to send may hold it, too, so that letting go of
// it would not be enough.
void end(const std::shared_ptr<PeerLink>& link) {
  if (link) link->close(error(Code::kCancelled, "the worker gave the link up"));
}

}  // namespace

ServerLink::ServerLink(Options options) : options_(std::move(options)) {}

std::string ServerLink::name() const {
  return fmt::format("parameter server {}", options_.server);
}

Status ServerLink::connect(Deadline deadline) {
  Status why;
  for (;;) {
    auto link = reach(deadline);
    const MutexLock lock(mutex_);
    if (link.ok()) {
      link_ = std::move(*link);
      generation_ = 1;
      break;
    }
    if (!failure_.ok()) return failure_;
    // That the time was over during the last attempt says the least.
    if (why.ok() || link.status().code() != Code::kTimeout) why = link.status();
    // What may be over when the server is there.
    const Code code = link.status().code();
    const bool may_pass = code == Code::kUnavailable ||
                          code == Code::kPeerLost || code == Code::kTimeout;
    if (!may_pass || deadline.passed()) return why;
    changed_.wait_for(mutex_, kPause);
  }
  thread_ = std::thread([this] { run(); });
  return {};
}

ServerLink::~ServerLink() {
  std::shared_ptr<PeerLink> link;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    failure_ = error(Code::kCancelled, "the worker was closed");
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  {
    const MutexLock lock(mutex_);
    link = take_link();
  }
  end(link);
  fail_all(error(Code::kCancelled, "the worker was closed"));
}

Result<std::shared_ptr<PeerLink>> ServerLink::reach(Deadline deadline) {
  RONDO_ASSIGN_OR_RETURN(
      const std::string text,
      options_.store->get(KvServer::store_key(options_.server), deadline));
  if (const auto why = why_server_is_lost(text)) {
    const MutexLock lock(mutex_);
    failure_ = error(Code::kPeerLost, "{} was lost: it {}", name(), *why);
    return failure_;
  }
  RONDO_ASSIGN_OR_RETURN(const Card card, Card::parse(text));
  RONDO_ASSIGN_OR_RETURN(
      auto link, PeerLink::connect({fmt::format("{} ({}, pid {})", name(),
                                                card.host, card.pid),
                                    card.nonce, card.addresses},
                                   {.token = options_.token,
                                    .caller = options_.hello.name,
                                    .shares_memory = options_.shares_memory},
                                   deadline));
  kv::Hello hello = options_.hello;
  {
    const MutexLock lock(mutex_);
    hello.left = left_;
  }
  RONDO_ASSIGN_OR_RETURN(
      const LinkAnswer said,
      link->call({kv::kHello, hello.encode(), {}}, deadline));
  RONDO_ASSIGN_OR_RETURN(const auto who, kv::HelloAnswer::decode(said.body));
  const MutexLock lock(mutex_);
  if (history_ == 0) history_ = who.history;
  if (who.history != history_) {
    failure_ = error(Code::kInvalidArgument,
                     "{} was started again without what it had: its parameters "
                     "are lost\n  do: start again from a checkpoint, and give "
                     "servers a folder for their logs",
                     name());
    return failure_;
  }
  return link;
}

void ServerLink::call(const LinkCall& what, Deadline deadline, const Done& done,
                      int64_t flow) {
  Status failure;
  {
    const MutexLock order(order_);
    // Who has left pushes no more.
    if (what.method == kv::kLeave) send_all_waiting();
    std::shared_ptr<PeerLink> link;
    uint64_t number = 0, generation = 0;
    {
      const MutexLock lock(mutex_);
      failure = failure_;
      if (failure.ok()) {
        if (what.method == kv::kLeave) left_ = true;
        if (what.method == kv::kReturn) left_ = false;
        number = next_++;
        Open one{what, deadline, Deadline(deadline.left() + kGrace), done,
                 flow};
        for (const Tensor& tensor : what.tensors) one.bytes += tensor.bytes();
        one.sent = !has_to_wait(one);
        if (one.sent)
          flows_[flow].under_way += one.bytes;
        else
          flows_[flow].waiting.push_back(number);
        // Else it is sent when there is a connection again.
        if (!broken_ && one.sent) link = link_;
        open_.try_emplace(number, std::move(one));
        generation = generation_;
      }
    }
    if (link) send(*link, generation, number, what);
  }
  if (!failure.ok()) done(failure);
}

bool ServerLink::has_to_wait(const Open& one) {
  if (options_.most_under_way == 0 || one.flow == kNoFlow) return false;
  const Flow& flow = flows_[one.flow];
  return !flow.waiting.empty() || !has_room(flow, one.bytes);
}

bool ServerLink::has_room(const Flow& flow, size_t bytes) const {
  return flow.under_way == 0 || bytes == 0 ||
         flow.under_way + bytes <= options_.most_under_way;
}

void ServerLink::send_all_waiting() {
  std::vector<int64_t> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [number, flow] : flows_) all.push_back(number);
  }
  for (const int64_t flow : all) send_waiting(flow, true);
}

void ServerLink::send_waiting(int64_t number_of_flow, bool all) {
  for (;;) {
    std::shared_ptr<PeerLink> link;
    uint64_t number = 0, generation = 0;
    LinkCall call;
    {
      const MutexLock lock(mutex_);
      Flow& flow = flows_[number_of_flow];
      if (flow.waiting.empty()) return;
      number = flow.waiting.front();
      const auto at = open_.find(number);
      if (at != open_.end()) {
        Open& one = at->second;
        if (!all && !has_room(flow, one.bytes)) return;
        flow.under_way += one.bytes;
        one.sent = true;
        call = one.call;
        if (!broken_) link = link_;
        generation = generation_;
      }
      flow.waiting.pop_front();
    }
    if (link) send(*link, generation, number, call);
  }
}

void ServerLink::send(PeerLink& link, uint64_t generation, uint64_t number,
                      const LinkCall& call) {
  link.call(call, [this, generation, number](Result<LinkAnswer> answer) {
    answered(generation, number, std::move(answer));
  });
}

// On the link's thread, or where the link is broken in send().
void ServerLink::answered(uint64_t generation, uint64_t number,
                          Result<LinkAnswer> answer) {
  Open one;
  {
    const MutexLock lock(mutex_);
    if (generation != generation_ || !link_) return;  // of an earlier link
    if (!link_->failure().ok()) {
      // No answer: it is asked again.
      broken_ = true;
      trouble_ = answer.status();
      changed_.notify_all();
      return;
    }
    const auto at = open_.find(number);
    if (at == open_.end()) return;
    one = std::move(at->second);
    open_.erase(at);
    flows_[one.flow].under_way -= one.bytes;
  }
  if (one.flow != kNoFlow) {
    const MutexLock order(order_);
    send_waiting(one.flow);
  }
  one.done(std::move(answer));
}

std::shared_ptr<PeerLink> ServerLink::take_link() {
  ++generation_;
  return std::move(link_);
}

void ServerLink::run() {
  for (;;) {
    bool broken = false;
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      // After a failure for good there are no new calls.
      if (failure_.ok() ? !broken_ : open_.empty()) {
        Duration nap = seconds(1);
        for (const auto& [number, one] : open_)
          nap = std::min<Duration>(nap, one.last.left());
        changed_.wait_for(mutex_, std::max<Duration>(nap, kPause));
      }
      if (stopping_) return;
      broken = broken_;
    }
    expire();
    if (broken) reconnect();
  }
}

void ServerLink::reconnect() {
  std::shared_ptr<PeerLink> old;
  Status failure;
  Duration attempt = kAttempt;
  {
    const MutexLock lock(mutex_);
    old = take_link();
    failure = failure_;
    // Nobody else ends calls that are too late.
    for (const auto& [number, one] : open_)
      attempt = std::min<Duration>(attempt, one.deadline.left());
    if (!away_) away_ = Clock::now();
    attempt = std::min<Duration>(attempt, options_.patience);
  }
  end(old);
  if (!failure.ok()) return fail_all(failure);
  auto link = reach(Deadline(attempt));
  if (!link.ok()) {
    const MutexLock lock(mutex_);
    trouble_ = link.status();
    // A refusal will be one the next time, too.
    const Code code = link.status().code();
    if (failure_.ok() && (code == Code::kPermission || code == Code::kMismatch))
      failure_ = link.status();
    if (failure_.ok() && Clock::now() - *away_ >= options_.patience)
      failure_ =
          error(Code::kPeerLost, "{} was lost: {}", name(), trouble_.message());
    if (!stopping_ && failure_.ok()) changed_.wait_for(mutex_, kPause);
    return;
  }
  const MutexLock order(order_);
  std::map<uint64_t, LinkCall> again;
  uint64_t generation = 0;
  {
    const MutexLock lock(mutex_);
    link_ = *link;
    generation = ++generation_;
    broken_ = false;
    away_.reset();
    for (const auto& [number, one] : open_)
      if (one.sent) again[number] = one.call;
  }
  for (const auto& [number, call] : again)
    send(**link, generation, number, call);
}

// Ends the calls that are too late. Where a server is there but silent, the
// link goes first: it may be writing into their memory.
void ServerLink::expire() {
  std::map<uint64_t, Open> late;
  std::shared_ptr<PeerLink> silent;
  Status trouble;
  {
    const MutexLock lock(mutex_);
    for (auto at = open_.begin(); at != open_.end();) {
      const Open& one = at->second;
      const auto here = at++;
      if ((broken_ ? one.deadline : one.last).passed()) {
        if (one.sent) flows_[one.flow].under_way -= one.bytes;
        late.insert(open_.extract(here));
      }
    }
    if (late.empty()) return;
    trouble = trouble_;
    silent = take_link();
    broken_ = true;
  }
  end(silent);
  for (auto& [number, one] : late) {
    const MutexLock order(order_);
    send_waiting(one.flow);
  }
  for (auto& [number, one] : late)
    one.done(error(Code::kTimeout, "{} did not answer in time{}{}", name(),
                   trouble.ok() ? "" : ": ", trouble.message()));
}

void ServerLink::fail_all(const Status& why) {
  std::map<uint64_t, Open> all;
  {
    const MutexLock lock(mutex_);
    all.swap(open_);
    flows_.clear();
  }
  for (auto& [number, one] : all) one.done(why);
}

}  // namespace rondo
