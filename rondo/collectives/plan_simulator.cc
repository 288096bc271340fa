#include "rondo/collectives/plan_simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <utility>

namespace rondo {
namespace {

bool is_recv(ActionKind kind) {
  return kind == ActionKind::kRecv || kind == ActionKind::kRecvReduce;
}
bool has_src(ActionKind kind) {
  return kind == ActionKind::kSend || kind == ActionKind::kCopy ||
         kind == ActionKind::kReduce || kind == ActionKind::kSliceReduce ||
         kind == ActionKind::kPull;
}
// A meeting of all ranks of a host.
bool is_meeting(ActionKind kind) {
  return kind == ActionKind::kShare || kind == ActionKind::kFence;
}
bool is_shared(ActionKind kind) {
  return is_meeting(kind) || kind == ActionKind::kSliceReduce ||
         kind == ActionKind::kPull;
}
bool has_dst(ActionKind kind) {
  return kind != ActionKind::kSend && kind != ActionKind::kJoin &&
         !is_meeting(kind);
}
int64_t count_of(const Action& action) {
  return has_dst(action.kind) ? action.dst.count : action.src.count;
}

enum class BlockState : uint8_t { kWaiting, kUnderWay, kDone };

// A block on its way. It knows its sender's action, which it ends when late.
struct Flight {
  int action;
  int64_t block;
  int64_t message_count;
  std::vector<int64_t> data;  // unless late
};

struct Running {
  int rank;
  int action;
  int64_t block;
  std::vector<int64_t> before;  // of dst, at the beginning
  std::vector<int64_t> src;     // if it was read at the beginning
  bool src_read;
  Flight flight;  // of a receive
};

class Simulation {
 public:
  Simulation(std::vector<SimulatedRank>& ranks, const SimulatorOptions& options)
      : ranks_(ranks),
        options_(options),
        random_(options.seed),
        channels_(ranks.size(), std::vector<Streams>(
                                    ranks.size(), Streams(options.streams))) {
    for (const SimulatedRank& rank : ranks_) {
      Progress progress;
      for (const Action& action : rank.plan.actions) {
        progress.blocks.emplace_back(blocks_of(action), BlockState::kWaiting);
        progress.left.push_back(blocks_of(action));
        progress.waiting.push_back(0);
        progress.priority.push_back(random_());
      }
      // Scratch holds whatever was there.
      for (int64_t i = 0; i < rank.plan.scratch; ++i) {
        progress.scratch.push_back(static_cast<int64_t>(random_() % 1000000));
      }
      progress_.push_back(std::move(progress));
    }
    // Half of the seeds run some actions as late as possible rather than all at
    // some random time.
    by_priority_ = options.seed % 2 == 1;
    for (size_t r = 0; r < ranks_.size(); ++r) order_.push_back(r);
    std::shuffle(order_.begin(), order_.end(), random_);
  }

  std::string run() {
    while (error_.empty()) {
      // Ends and beginnings are mixed; ends are put off now and then.
      bool end = !running_.empty() && random_() % 3 == 0;
      if (!end && begin_something()) continue;
      if (running_.empty()) break;
      end_something();
    }
    if (error_.empty()) error_ = left_over();
    return error_;
  }

 private:
  struct Progress {
    std::vector<std::vector<BlockState>> blocks;  // by action
    std::vector<int64_t> left;                    // blocks not done
    std::vector<size_t> waiting;  // all blocks before this one have begun
    std::vector<uint64_t> priority;
    std::vector<int64_t> scratch;
    size_t first = 0;  // all before this action is done
    // Nothing may begin, and nothing has happened since that could change it.
    bool stuck = false;
  };

  using Streams = std::vector<std::deque<Flight>>;

  // Block k of a message travels on stream k modulo the number of streams.
  std::deque<Flight>& channel(int from, int to, int64_t block) {
    return channels_[from][to][block % options_.streams];
  }

  // An empty message is one block of no elements, its header; so is a meeting.
  int64_t blocks_of(const Action& action) const {
    int64_t blocks = (count_of(action) + options_.block - 1) / options_.block;
    bool headed = is_message(action.kind) || is_meeting(action.kind);
    return headed ? std::max<int64_t>(blocks, 1) : blocks;
  }

  const Action& action_of(int rank, int i) const {
    return ranks_[rank].plan.actions[i];
  }

  int64_t* memory(int rank, const Range& range, int64_t block) {
    SimulatedRank& r = ranks_[rank];
    std::vector<int64_t>& buffer =
        range.buffer == Buffer::kScratch ? progress_[rank].scratch
        : range.buffer == Buffer::kInput && !r.in_place ? r.input
                                                        : r.output;
    return buffer.data() + range.offset + block * options_.block;
  }

  int64_t length(const Range& range, int64_t block) const {
    return std::min(options_.block, range.count - block * options_.block);
  }

  std::vector<int64_t> read(int rank, const Range& range, int64_t block) {
    if (range.count == 0) return {};
    int64_t* from = memory(rank, range, block);
    return {from, from + length(range, block)};
  }

  bool may_begin(int rank, int i, int64_t block) {
    const Action& action = action_of(rank, i);
    const Progress& progress = progress_[rank];
    if (progress.blocks[i][block] != BlockState::kWaiting) return false;
    // An empty message has no elements that it would have to wait for.
    if (action.after >= 0 && count_of(action) > 0 &&
        progress.blocks[action.after][block] != BlockState::kDone) {
      return false;
    }
    if (action.kind == ActionKind::kSend) {
      return options_.capacity == 0 ||
             static_cast<int64_t>(channel(rank, action.peer, block).size()) <
                 options_.capacity;
    }
    if (is_recv(action.kind)) {
      return !channel(action.peer, rank, block).empty();
    }
    return true;
  }

  // What may begin on a rank: (action, block).
  std::vector<std::pair<int, int64_t>> choices(int rank) {
    Progress& progress = progress_[rank];
    const std::vector<Action>& actions = ranks_[rank].plan.actions;
    while (progress.first < actions.size() &&
           progress.left[progress.first] == 0) {
      ++progress.first;
    }
    std::vector<std::pair<int, int64_t>> found;
    // By direction, peer and stream: an earlier message is still to begin
    // there.
    busy_.assign(2 * ranks_.size() * options_.streams, false);
    busy_streams_.assign(2 * ranks_.size(), 0);
    for (size_t i = progress.first; i < actions.size(); ++i) {
      const Action& action = actions[i];
      // A join with all before it done has been passed above.
      if (action.kind == ActionKind::kJoin) break;
      if (is_shared(action.kind) && i > progress.first) break;
      const std::vector<BlockState>& blocks = progress.blocks[i];
      size_t& waiting = progress.waiting[i];
      while (waiting < blocks.size() &&
             blocks[waiting] != BlockState::kWaiting) {
        ++waiting;
      }
      if (is_message(action.kind)) {
        int streams = options_.streams;
        bool send = action.kind == ActionKind::kSend;
        size_t pair = 2 * action.peer + send;
        for (size_t k = waiting;
             k < blocks.size() && busy_streams_[pair] < streams; ++k) {
          size_t flow = pair * streams + k % streams;
          if (blocks[k] != BlockState::kWaiting || busy_[flow]) continue;
          busy_[flow] = true;
          ++busy_streams_[pair];
          if (may_begin(rank, i, k)) found.emplace_back(i, k);
        }
      } else if (waiting < blocks.size()) {
        // Local work has no order among its blocks.
        size_t block = waiting + random_() % (blocks.size() - waiting);
        if (!may_begin(rank, i, block)) block = waiting;
        if (may_begin(rank, i, block)) found.emplace_back(i, block);
      }
      if (is_shared(action.kind)) break;
    }
    return found;
  }

  bool begin_something() {
    if (!by_priority_) std::shuffle(order_.begin(), order_.end(), random_);
    for (int rank : order_) {
      if (progress_[rank].stuck) continue;
      auto found = choices(rank);
      progress_[rank].stuck = found.empty();
      if (found.empty()) continue;
      auto chosen = found[random_() % found.size()];
      if (by_priority_) {
        const std::vector<uint64_t>& priority = progress_[rank].priority;
        chosen = *std::max_element(
            found.begin(), found.end(), [&](const auto& a, const auto& b) {
              return priority[a.first] < priority[b.first];
            });
      }
      begin(rank, chosen.first, chosen.second);
      return true;
    }
    return false;
  }

  void begin(int rank, int i, int64_t block) {
    const Action& action = action_of(rank, i);
    progress_[rank].blocks[i][block] = BlockState::kUnderWay;
    if (action.kind == ActionKind::kSend) {
      Flight flight{i, block, action.src.count, {}};
      if (!options_.late) {
        flight.data = read(rank, action.src, block);
        done(rank, i, block);
      }
      channel(rank, action.peer, block).push_back(std::move(flight));
      progress_[action.peer].stuck = false;
      return;
    }
    if (is_meeting(action.kind)) {
      meet(rank, i);
      return;
    }
    Running running{rank, i,     block, read(rank, action.dst, block),
                    {},   false, {}};
    if (is_recv(action.kind)) {
      auto& arriving = channel(action.peer, rank, block);
      running.flight = std::move(arriving.front());
      arriving.pop_front();
      progress_[action.peer].stuck = false;
      if (running.flight.message_count != action.dst.count ||
          running.flight.block != block) {
        error_ = fmt::format(
            "rank {}, action {}: receives {} elements (block {}) from {}, "
            "which "
            "sent {} (block {})",
            rank, i, action.dst.count, block, action.peer,
            running.flight.message_count, running.flight.block);
      }
    } else if (has_src(action.kind) && random_() % 2 == 0) {
      running.src = source(rank, action, block);
      running.src_read = true;
    }
    running_.push_back(std::move(running));
  }

  void end_something() {
    size_t pick = random_() % running_.size();
    std::swap(running_[pick], running_.back());
    Running running = std::move(running_.back());
    running_.pop_back();
    const Action& action = action_of(running.rank, running.action);

    std::vector<int64_t> value;
    if (is_recv(action.kind)) {
      value = std::move(running.flight.data);
      if (options_.late) {
        const Action& sent = action_of(action.peer, running.flight.action);
        value = read(action.peer, sent.src, running.flight.block);
        done(action.peer, running.flight.action, running.flight.block);
      }
    } else if (has_src(action.kind)) {
      value = running.src_read ? std::move(running.src)
                               : source(running.rank, action, running.block);
    } else {
      for (int64_t before : running.before) value.push_back(finished(before));
    }
    if (action.finishes) {
      for (int64_t& sum : value) sum = finished(sum);
    }
    if (action.kind == ActionKind::kRecvReduce ||
        action.kind == ActionKind::kReduce) {
      for (size_t k = 0; k < value.size(); ++k) value[k] += running.before[k];
    }
    for (int owner : owners_of_dst(running.rank, action)) {
      std::copy(value.begin(), value.end(),
                memory(owner, action.dst, running.block));
    }
    done(running.rank, running.action, running.block);
  }

  std::vector<int> ranks_here(int rank) const {
    std::vector<int> here;
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
      if (ranks_[r].host == ranks_[rank].host) here.push_back(r);
    }
    return here;
  }

  // In whose memory the destination of an action lies.
  std::vector<int> owners_of_dst(int rank, const Action& action) const {
    if (action.kind != ActionKind::kSliceReduce) return {rank};
    if (action.peer >= 0) return {action.peer};
    return ranks_here(rank);
  }

  std::vector<int64_t> source(int rank, const Action& action, int64_t block) {
    if (action.kind == ActionKind::kPull) {
      return read(action.peer, action.src, block);
    }
    if (action.kind != ActionKind::kSliceReduce) {
      return read(rank, action.src, block);
    }
    std::vector<int64_t> sum(length(action.src, block), 0);
    for (int r : ranks_here(rank)) {
      std::vector<int64_t> addend = read(r, action.src, block);
      for (size_t k = 0; k < sum.size(); ++k) sum[k] += addend[k];
    }
    return sum;
  }

  // Ends everybody's meeting when the last one comes.
  void meet(int rank, int i) {
    std::vector<std::pair<int, int>>& present = meetings_[ranks_[rank].host];
    present.emplace_back(rank, i);
    if (present.size() < ranks_here(rank).size()) return;
    for (auto [other, action] : present) done(other, action, 0);
    present.clear();
  }

  void done(int rank, int i, int64_t block) {
    progress_[rank].blocks[i][block] = BlockState::kDone;
    --progress_[rank].left[i];
    progress_[rank].stuck = false;
  }

  std::string left_over() const {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      for (size_t i = 0; i < progress_[r].left.size(); ++i) {
        if (progress_[r].left[i] == 0) continue;
        return fmt::format(
            "deadlock: rank {}, action {} has {} blocks left\n{}", r, i,
            progress_[r].left[i], ranks_[r].plan.to_string());
      }
    }
    for (size_t a = 0; a < ranks_.size(); ++a) {
      for (size_t b = 0; b < ranks_.size(); ++b) {
        for (const std::deque<Flight>& stream : channels_[a][b]) {
          if (stream.empty()) continue;
          return fmt::format("rank {} never receives {} blocks of rank {}", b,
                             stream.size(), a);
        }
      }
    }
    return "";
  }

  std::vector<SimulatedRank>& ranks_;
  const SimulatorOptions& options_;
  std::mt19937_64 random_;
  bool by_priority_;
  std::vector<int> order_;
  std::vector<Progress> progress_;
  std::vector<Running> running_;
  std::vector<char> busy_;         // of choices(), kept for its memory
  std::vector<int> busy_streams_;  // of choices() too
  std::vector<std::vector<Streams>> channels_;  // [from][to]
  // By host: who is at the present meeting, and with which action.
  std::map<int, std::vector<std::pair<int, int>>> meetings_;
  std::string error_;
};

std::string fault_of(const Range& range, const Plan& plan, int64_t input,
                     int64_t output) {
  int64_t size = range.buffer == Buffer::kInput    ? input
                 : range.buffer == Buffer::kOutput ? output
                                                   : plan.scratch;
  if (range.count < 0 || range.offset < 0 ||
      range.offset + range.count > size) {
    return fmt::format("[{}, +{}) is outside a buffer of {} elements",
                       range.offset, range.count, size);
  }
  return "";
}

std::string fault_of(const Plan& plan, int i, int n, int rank) {
  const Action& action = plan.actions[i];
  if (action.after != -1) {
    if (action.after < 0 || action.after >= i) return "after is not earlier";
    const Action& earlier = plan.actions[action.after];
    if (earlier.kind == ActionKind::kJoin) return "after a join";
    if (count_of(earlier) != count_of(action)) {
      return fmt::format("has {} elements, the action before it {}",
                         count_of(action), count_of(earlier));
    }
  }
  if (is_message(action.kind) &&
      (action.peer < 0 || action.peer >= n || action.peer == rank)) {
    return fmt::format("no peer {}", action.peer);
  }
  if (has_src(action.kind) && has_dst(action.kind) &&
      action.src.count != action.dst.count) {
    return "src and dst differ in size";
  }
  return "";
}

}  // namespace

std::string fault_of(const Plan& plan, int n, int rank, int64_t input,
                     int64_t output) {
  for (int i = 0; i < static_cast<int>(plan.actions.size()); ++i) {
    const Action& action = plan.actions[i];
    std::string fault = fault_of(plan, i, n, rank);
    if (fault.empty() && has_src(action.kind)) {
      fault = fault_of(action.src, plan, input, output);
    }
    if (fault.empty() && has_dst(action.kind)) {
      fault = fault_of(action.dst, plan, input, output);
    }
    if (!fault.empty()) {
      return fmt::format("rank {}, action {}: {}\n{}", rank, i, fault,
                         plan.to_string());
    }
  }
  return "";
}

std::string simulate(std::vector<SimulatedRank>& ranks,
                     const SimulatorOptions& options) {
  const int n = static_cast<int>(ranks.size());
  for (int r = 0; r < n; ++r) {
    const SimulatedRank& rank = ranks[r];
    std::string fault = fault_of(
        rank.plan, n, r, rank.in_place ? rank.output.size() : rank.input.size(),
        rank.output.size());
    if (!fault.empty()) return fault;
  }
  return Simulation(ranks, options).run();
}

}  // namespace rondo
