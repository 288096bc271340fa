#include "rondo/planner/step_replay.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "rondo/planner/replayed_exchanges.h"

namespace rondo {
namespace {

// So many rounds, fewer where they take longer than this; but three at least,
// where these do not take very long. The first half does not count: sockets'
// windows still grow, for ten rounds and more.
constexpr int kMostRounds = 60;
constexpr double kSeconds = 6;
constexpr int kLeastRounds = 3;
constexpr double kManySeconds = 20;

// Bytes that have left through this host's interfaces, but for loopback.
double network_bytes() {
  std::ifstream file("/proc/net/dev");
  double bytes = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream fields(line.substr(colon + 1));
    double sent = 0;
    // Eight of what came, then what left.
    for (int i = 0; i <= 8; ++i) fields >> sent;
    const size_t name = line.find_first_not_of(' ');
    if (line.substr(name, colon - name) != "lo") bytes += sent;
  }
  return bytes;
}

class StepReplay {
 public:
  StepReplay(const ReplayJob& job, ReplayPlace place)
      : job_(job), place_(std::move(place)) {}

  Result<ReplayTimes> run() {
    Communicator& comm = place_.comm;
    if (static_cast<int>(job_.slowness.size()) != comm.size())
      return error(Code::kInvalidArgument,
                   "the step is that of {} workers, and the job has {} ranks",
                   job_.slowness.size(), comm.size());
    for (int i = 0; i < 2; ++i)
      RONDO_RETURN_IF_ERROR(place_.exchanges->warm_up());
    ReplayTimes times;
    RONDO_ASSIGN_OR_RETURN(const auto at_once, rounds(0));
    times.communication = median(at_once);
    times.rounds = static_cast<int>(at_once.size());
    times.worker_bytes = bytes_;
    const double slow = job_.slowness[static_cast<size_t>(comm.rank())];
    RONDO_ASSIGN_OR_RETURN(const auto steps, rounds(slow * job_.computation));
    times.step = median(steps);
    return times;
  }

 private:
  // Of the later half.
  static double median(std::vector<double> times) {
    const auto half = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::sort(half, times.end());
    return half[(times.end() - half) / 2];
  }

  // The slowest rank's times of steps in which this one computes for so long.
  Result<std::vector<double>> rounds(double computation) {
    std::vector<double> times;
    double total = 0;
    const auto enough = [&] {
      const int count = static_cast<int>(times.size());
      if (job_.rounds > 0) return count >= job_.rounds;
      return count >= kMostRounds ||
             total >= (count < kLeastRounds ? kManySeconds : kSeconds);
    };
    while (!enough()) {
      RONDO_ASSIGN_OR_RETURN(const double slowest, round(computation));
      times.push_back(slowest);
      total += slowest;
    }
    return times;
  }

  Result<double> round(double computation) {
    Communicator& comm = place_.comm;
    RONDO_RETURN_IF_ERROR(comm.barrier());
    const double bytes = network_bytes();
    const auto begin = Clock::now();
    for (size_t i = 0; i < job_.exchanges.size(); ++i) {
      if (computation > 0)
        std::this_thread::sleep_until(
            begin + seconds(job_.exchanges[i].ready * computation));
      RONDO_RETURN_IF_ERROR(place_.exchanges->begin(i));
    }
    RONDO_ASSIGN_OR_RETURN(const auto ends, place_.exchanges->finish());
    if (computation > 0)
      std::this_thread::sleep_until(begin +
                                    seconds(end_of(computation, begin, ends)));
    std::vector<double> slowest = {to_seconds(Clock::now() - begin)};
    RONDO_RETURN_IF_ERROR(comm.allreduce(slowest, {.op = ReduceOp::kMax}));
    // Everybody has got all, so all has left.
    std::vector<double> sent = {(network_bytes() - bytes) / on_this_host()};
    RONDO_RETURN_IF_ERROR(comm.allreduce(sent));
    bytes_ = sent[0] / comm.size();
    return slowest[0];
  }

  // When this rank would have computed all, if it computed.
  double end_of(double computation, Clock::time_point begin,
                const std::vector<Clock::time_point>& ends) const {
    const auto behind =
        seconds_behind(job_.exchanges, computation, job_.seconds_per_flop);
    std::vector<EndedExchange> ended;
    for (size_t i = 0; i < ends.size(); ++i)
      ended.push_back({to_seconds(ends[i] - begin), behind[i]});
    return end_of_step(backward_share(job_.exchanges) * computation,
                       std::move(ended));
  }

  // Ranks, which share its interfaces.
  int on_this_host() const {
    int ranks = 0;
    for (int peer = 0; peer < place_.comm.size(); ++peer)
      if (place_.comm.transport_to(peer) != "tcp") ++ranks;
    return ranks;
  }

  const ReplayJob& job_;
  ReplayPlace place_;
  double bytes_ = 0;  // that a worker sent in the last round
};

}  // namespace

Result<ReplayTimes> replay(const Env& env, const ReplayJob& job) {
  RONDO_ASSIGN_OR_RETURN(ReplayPlace place, ReplayPlace::connect(env, job));
  return StepReplay(job, std::move(place)).run();
}

}  // namespace rondo
