// What an endpoint does for the groups on it: streams, mail, questions.
#include <algorithm>

#include "rondo/transport/endpoint.h"

namespace rondo {

void Endpoint::attach(uint64_t group, GroupHandler* handler) {
  {
    MutexLock lock(mutex_);
    arrivals_.open(group);
  }
  MutexLock lock(handlers_mutex_);
  handlers_[group] = handler;
}

void Endpoint::detach(uint64_t group) {
  {
    MutexLock lock(handlers_mutex_);
    handlers_.erase(group);
  }
  MutexLock lock(mutex_);
  arrivals_.close(group);
}

std::optional<Fd> Endpoint::take_stream(int peer, uint64_t group, int index) {
  MutexLock lock(mutex_);
  return arrivals_.take_stream(group, peer, index);
}

Result<std::vector<std::string>> Endpoint::exchange(
    uint64_t group, uint64_t round, std::span<const int> members,
    const std::string& mine, Deadline deadline, const GiveUp& give_up) {
  for (int peer : members)
    if (peer != rank())
      tell(peer, {ControlType::kExchange, group, round, mine});
  std::vector<std::string> answers(members.size());
  MutexLock lock(mutex_);
  for (;;) {
    std::string silent;
    Status gone;
    for (size_t i = 0; i < members.size(); ++i) {
      const int peer = members[i];
      if (peer == rank() || arrivals_.has_mail(group, round, peer)) continue;
      silent += (silent.empty() ? "" : ", ") + describe(peer);
      const Peer& state = peers_[peer];
      if (!state.lost.ok()) gone = state.lost;
      if (state.left)
        gone = error(Code::kPeerLost, "{} has left the job", describe(peer));
      if (gone.ok() && give_up) gone = give_up(peer);
    }
    if (silent.empty()) break;
    if (!gone.ok()) return gone;
    if (deadline.passed())
      return error(Code::kTimeout, "no answer from {}; do: look at its log",
                   silent);
    changed_.wait_for(mutex_, std::min(deadline.left(), kWaitSlice));
  }
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == rank()) {
      answers[i] = mine;
      continue;
    }
    answers[i] = arrivals_.take_mail(group, round, members[i]);
  }
  return answers;
}

std::vector<std::optional<std::string>> Endpoint::query(
    uint64_t group, std::span<const int> peers, Duration patience) {
  uint64_t question = 0;
  {
    MutexLock lock(mutex_);
    question = next_question_++;
    open_questions_.insert(question);
  }
  for (int peer : peers) tell(peer, {ControlType::kQuery, group, question, {}});
  const Deadline deadline(patience);
  std::vector<std::optional<std::string>> answers(peers.size());
  MutexLock lock(mutex_);
  for (;;) {
    size_t there = 0;
    for (int peer : peers) there += replies_.count({question, peer});
    if (there == peers.size() || deadline.passed()) break;
    changed_.wait_for(mutex_, std::min(deadline.left(), kWaitSlice));
  }
  for (size_t i = 0; i < peers.size(); ++i) {
    auto it = replies_.find({question, peers[i]});
    if (it != replies_.end()) answers[i] = std::move(it->second);
  }
  open_questions_.erase(question);
  std::erase_if(replies_, [question](const auto& entry) {
    return entry.first.first == question;
  });
  return answers;
}

}  // namespace rondo
