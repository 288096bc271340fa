#include "rondo/planner/link_probe.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "rondo/base/clock.h"
#include "rondo/planner/median.h"

namespace rondo {
namespace {

constexpr int64_t kFirstMessage = 64 << 10;
constexpr int64_t kLongestMessage = 64 << 20;
constexpr size_t kNameBytes = 65;  // of a host, with its end

// One end of a pair. The one with the lower rank leads: it takes the times and
// says how to go on.
class PairProbe {
 public:
  PairProbe(Communicator& comm, int peer, const LinkProbeOptions& options)
      : comm_(comm), peer_(peer), options_(options) {}

  // Seconds of a message, one way; of the leader.
  Result<double> latency() {
    const int warm_up = options_.pings / 10;
    std::vector<double> times;
    for (int i = 0; i < warm_up + options_.pings; ++i) {
      const auto start = Clock::now();
      if (leads()) {
        RONDO_RETURN_IF_ERROR(comm_.send(std::span(word_), peer_));
        RONDO_RETURN_IF_ERROR(comm_.recv(std::span(word_), peer_));
      } else {
        RONDO_RETURN_IF_ERROR(comm_.recv(std::span(word_), peer_));
        RONDO_RETURN_IF_ERROR(comm_.send(std::span(word_), peer_));
      }
      if (i >= warm_up) times.push_back(to_seconds(Clock::now() - start));
    }
    return median(times) / 2;
  }

  // Bytes a second, both ways at once; of the leader. Messages grow until one
  // is long enough to be timed, which also gives TCP the time to speed up. The
  // median: a process that is held up for a moment sees a message that is too
  // slow, and then one that had come before it looked.
  Result<double> rate() {
    std::vector<double> rates;
    double spent = 0;
    word_[0] = kFirstMessage;
    while (word_[0] > 0) {
      RONDO_ASSIGN_OR_RETURN(const double took, exchange(word_[0]));
      if (leads()) {
        if (took < options_.seconds / 8 && word_[0] < kLongestMessage) {
          word_[0] *= 4;
        } else {
          rates.push_back(static_cast<double>(word_[0]) / took);
          spent += took;
          if (spent >= options_.seconds) word_[0] = 0;
        }
      }
      RONDO_RETURN_IF_ERROR(leads() ? comm_.send(std::span(word_), peer_)
                                    : comm_.recv(std::span(word_), peer_));
    }
    return leads() ? median(rates) : 0;
  }

 private:
  bool leads() const { return comm_.rank() < peer_; }

  Result<double> exchange(int64_t bytes) {
    out_.resize(static_cast<size_t>(bytes));
    in_.resize(static_cast<size_t>(bytes));
    const auto start = Clock::now();
    RONDO_RETURN_IF_ERROR(
        comm_.sendrecv(std::span(out_), peer_, std::span(in_), peer_));
    return to_seconds(Clock::now() - start);
  }

  Communicator& comm_;
  const int peer_;
  const LinkProbeOptions& options_;
  std::vector<int64_t> word_ = {0};
  std::vector<uint8_t> out_, in_;
};

// What `measure` says of each pair, on all ranks.
Result<std::vector<double>> by_pairs(
    Communicator& comm, const LinkProbeOptions& options,
    const std::function<Result<double>(PairProbe&)>& measure) {
  const int n = comm.size();
  std::vector<double> pairs(static_cast<size_t>(n) * static_cast<size_t>(n));
  const int all = rounds_of_pairs(n);
  const int rounds = std::min(all, options.most_rounds);
  for (int i = 0; i < rounds; ++i) {
    const int round = static_cast<int>(int64_t{i} * all / rounds);
    const int peer = peer_in_round(comm.rank(), round, n);
    RONDO_RETURN_IF_ERROR(comm.barrier());
    if (peer < 0) continue;
    PairProbe probe(comm, peer, options);
    RONDO_ASSIGN_OR_RETURN(const double found, measure(probe));
    if (comm.rank() > peer) continue;
    const auto a = static_cast<size_t>(comm.rank());
    const auto b = static_cast<size_t>(peer);
    pairs[a * static_cast<size_t>(n) + b] = found;
    pairs[b * static_cast<size_t>(n) + a] = found;
  }
  RONDO_RETURN_IF_ERROR(comm.allreduce(pairs, {.op = ReduceOp::kMax}));
  return pairs;
}

Result<std::vector<std::string>> host_names(Communicator& comm) {
  std::vector<uint8_t> mine(kNameBytes),
      all(kNameBytes * static_cast<size_t>(comm.size()));
  if (gethostname(reinterpret_cast<char*>(mine.data()), kNameBytes - 1) != 0)
    std::memcpy(mine.data(), "unknown", 8);
  RONDO_RETURN_IF_ERROR(comm.allgather(mine, all));
  std::vector<std::string> names;
  for (size_t at = 0; at < all.size(); at += kNameBytes)
    names.emplace_back(reinterpret_cast<const char*>(&all[at]));
  return names;
}

}  // namespace

int rounds_of_pairs(int hosts) { return hosts % 2 == 0 ? hosts - 1 : hosts; }

// Two hosts meet in the round that is half their sum, modulo the rounds; that
// number is odd, so everybody once meets itself, and is then with the last one,
// for whom there is no such sum, or with nobody.
int peer_in_round(int host, int round, int hosts) {
  const int rounds = rounds_of_pairs(hosts);
  if (host == rounds) return round;
  const int other = (2 * round - host + rounds) % rounds;
  if (other != host) return other;
  return hosts > rounds ? rounds : -1;
}

Result<LinkSurvey> probe_links(Communicator& comm,
                               const LinkProbeOptions& options) {
  if (comm.size() < 2)
    return error(Code::kInvalidArgument,
                 "one host has no link to measure; give two at least");
  LinkSurvey survey;
  RONDO_ASSIGN_OR_RETURN(survey.hosts, host_names(comm));
  RONDO_ASSIGN_OR_RETURN(
      survey.latencies,
      by_pairs(comm, options, [](PairProbe& pair) { return pair.latency(); }));
  RONDO_ASSIGN_OR_RETURN(
      survey.rates,
      by_pairs(comm, options, [](PairProbe& pair) { return pair.rate(); }));
  return survey;
}

}  // namespace rondo
