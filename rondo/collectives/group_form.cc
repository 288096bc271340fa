// How a group comes about: boards are made and attached, every member says what
// it could attach, and all derive the same picture from the answers.
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "rondo/base/log.h"
#include "rondo/collectives/group.h"
#include "rondo/tensor/heap.h"
#include "rondo/transport/shm/pipe_channel.h"
#include "rondo/transport/tcp/tcp_channel.h"

namespace rondo {
namespace {

constexpr uint64_t kMemoryRound = 1;
constexpr uint64_t kRowsRound = 2;

// What a member publishes about its memory.
struct MemoryOffer {
  SegmentHandle board;
  SegmentHandle heap;
  uint64_t probe = 0;  // address of 8 bytes that hold the board's nonce
};

// What a member found out about another: a letter of a row, 'a' + these bits.
constexpr int kAttached = 1;     // its board
constexpr int kHeap = 2;         // and its heap
constexpr int kRemote = 4;       // process_vm_readv works on it
constexpr int kSameProcess = 8;  // it is a thread of this process

int bits(char letter) { return letter - 'a'; }

}  // namespace

// The other members' memory as far as this rank reached it, by rank, and the
// row that says so.
struct Group::Attached {
  std::vector<BoardView> boards;
  std::vector<PeerMemory> memories;
  std::string row;
};

Result<std::shared_ptr<Group>> Group::form(
    const std::shared_ptr<Endpoint>& endpoint, uint64_t id,
    std::vector<int> members, GroupOptions options, Deadline deadline) {
  std::shared_ptr<Group> group(new Group);
  group->id_ = id;
  group->members_ = std::move(members);
  group->options_ = std::move(options);
  group->gone_ = std::make_unique<std::atomic<bool>[]>(group->members_.size());
  group->event_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!group->event_.valid())
    return errno_error(Code::kResource, errno,
                       "cannot make an eventfd (raise ulimit -n)");
  for (size_t i = 0; i < group->members_.size(); ++i)
    if (group->members_[i] == endpoint->rank())
      group->rank_ = static_cast<int>(i);
  // A board is made even for one rank or for TCP alone: its doorbell is where
  // this rank sleeps.
  RONDO_ASSIGN_OR_RETURN(group->own_board_, BoardView::create(group->size()));
  group->endpoint_ = endpoint;
  endpoint->attach(id, group.get());
  RONDO_ASSIGN_OR_RETURN(auto attached, group->attach_boards(deadline));
  RONDO_ASSIGN_OR_RETURN(
      auto rows,
      endpoint->exchange(id, kRowsRound, group->members_, attached.row,
                         deadline, group->unless_left()));
  for (const std::string& row : rows)
    if (row.size() != group->members_.size())
      return error(Code::kInternal, "a member's row has the wrong length");
  group->derive_hosts(rows);
  RONDO_RETURN_IF_ERROR(group->check_transport());
  group->keep_local(std::move(attached));
  group->make_channels();
  // Losses and goodbyes from before attach() are not announced again.
  for (int peer = 0; peer < group->size(); ++peer) {
    const int world = group->members_[static_cast<size_t>(peer)];
    if (world == endpoint->rank()) continue;
    if (Status lost = endpoint->lost(world); !lost.ok()) return lost;
    if (endpoint->left(world)) group->on_left(world);
  }
  return group;
}

// Ends an exchange when a member has closed the group that is being formed.
Endpoint::GiveUp Group::unless_left() const {
  return [this](int world) -> Status {
    const int peer = index_of(world);
    if (peer < 0 || !left(peer)) return {};
    return error(Code::kPeerLost,
                 "{} could not form communicator {}\n  do: look at its log",
                 describe(peer), name());
  };
}

Result<Group::Attached> Group::attach_boards(Deadline deadline) {
  MemoryOffer mine;
  SharedHeap& heap = SharedHeap::process();
  if (options_.transport != "tcp") {
    mine.board = own_board_.handle();
    mine.heap = Segment::handle_of(heap.shareable() ? heap.fd() : -1,
                                   heap.nonce(), heap.bytes());
    mine.probe = reinterpret_cast<uint64_t>(&own_board_->nonce);
  }
  std::string bytes(sizeof mine, '\0');
  std::memcpy(bytes.data(), &mine, sizeof mine);
  RONDO_ASSIGN_OR_RETURN(auto offers,
                         endpoint_->exchange(id_, kMemoryRound, members_, bytes,
                                             deadline, unless_left()));
  Attached attached;
  attached.boards.resize(members_.size());
  attached.memories.resize(members_.size());
  attached.row.assign(members_.size(), 'a');
  for (size_t i = 0; i < members_.size(); ++i) {
    if (static_cast<int>(i) == rank_ || offers[i].size() != sizeof(MemoryOffer))
      continue;
    MemoryOffer offer;
    std::memcpy(&offer, offers[i].data(), sizeof offer);
    if (offer.board.bytes == 0 || mine.board.bytes == 0) continue;
    const bool same_process = offer.board.process == process_nonce();
    if (options_.transport == "inproc" && !same_process) continue;
    auto board = BoardView::attach(offer.board);
    if (!board.ok()) {
      log(LogLevel::kDebug, "{}: no shared memory with {}: {}", name(),
          describe(static_cast<int>(i)), board.status().message());
      continue;
    }
    PeerMemory memory(offer.heap, offer.probe, offer.board.nonce,
                      options_.remote_memory);
    attached.row[i] = static_cast<char>(
        'a' +
        (kAttached | (memory.maps_heap() ? kHeap : 0) |
         (memory.remote_access() ? kRemote : 0) |
         (same_process && options_.transport != "shm" ? kSameProcess : 0)));
    attached.boards[i] = std::move(*board);
    attached.memories[i] = std::move(memory);
  }
  return attached;
}

void Group::derive_hosts(const std::vector<std::string>& rows) {
  const size_t n = members_.size();
  const auto me = static_cast<size_t>(rank_);
  // Ranks share a host when each has attached every other.
  auto mutual = [&](size_t a, size_t b) {
    return (bits(rows[a][b]) & bits(rows[b][a]) & kAttached) != 0;
  };
  std::vector<std::vector<size_t>> hosts;
  host_of_.assign(n, 0);
  for (size_t r = 0; r < n; ++r) {
    auto home = std::find_if(hosts.begin(), hosts.end(), [&](const auto& host) {
      return std::all_of(host.begin(), host.end(),
                         [&](size_t other) { return mutual(r, other); });
    });
    if (home == hosts.end()) home = hosts.emplace(hosts.end());
    home->push_back(r);
    host_of_[r] = static_cast<int>(home - hosts.begin());
  }
  hosts_ = static_cast<int>(hosts.size());
  maps_heaps_ = remote_access_ = true;
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < n; ++b) {
      if (a == b || host_of_[a] != host_of_[b]) continue;
      maps_heaps_ &= (bits(rows[a][b]) & kHeap) != 0;
      remote_access_ &= (bits(rows[a][b]) & kRemote) != 0;
    }
  links_.assign(n, Link::kTcp);
  for (size_t r = 0; r < n; ++r) {
    if (r == me)
      links_[r] = Link::kSelf;
    else if (host_of_[r] == host_of_[me])
      links_[r] =
          (bits(rows[me][r]) & kSameProcess) != 0 ? Link::kInproc : Link::kShm;
  }
}

Status Group::check_transport() const {
  for (int peer = 0; peer < size(); ++peer) {
    const Link l = link(peer);
    const bool fits = l == Link::kSelf || options_.transport == "auto" ||
                      options_.transport == name_of(l) ||
                      (options_.transport == "shm" && l == Link::kInproc);
    if (!fits)
      return error(Code::kUnavailable,
                   "transport {} was asked for, but {} cannot be reached by "
                   "it\n  do: use transport auto, or start the ranks on one "
                   "host",
                   options_.transport, describe(peer));
  }
  return {};
}

void Group::keep_local(Attached attached) {
  const int host = host_of_[static_cast<size_t>(rank_)];
  for (int peer = 0; peer < size(); ++peer) {
    const auto i = static_cast<size_t>(peer);
    if (host_of_[i] != host) continue;
    if (peer == rank_) {
      local_index_ = static_cast<int>(local_ranks_.size());
      attached.boards[i] = own_board_;
    }
    boards_.push_back(std::move(attached.boards[i]));
    memories_.push_back(std::move(attached.memories[i]));
    local_ranks_.push_back(peer);
  }
  // Ranks under one kernel compete for the processors that they may use
  // together, whatever links them: each may be bound to its own.
  struct Kernel {
    int ranks = 0;
    std::set<int> cpus;
    double crowding() const {
      return static_cast<double>(ranks) /
             static_cast<double>(std::max<size_t>(1, cpus.size()));
    }
  };
  std::map<std::string, Kernel> kernels;
  for (int member : members_) {
    const Card& card = endpoint_->card_of(member);
    Kernel& kernel = kernels[card.boot];
    ++kernel.ranks;
    add_cpus(card.cpus, kernel.cpus);
  }
  for (const auto& [boot, kernel] : kernels)
    crowding_ = std::max(crowding_, kernel.crowding());
  const Kernel& here = kernels[endpoint_->card().boot];
  may_spin_ = here.crowding() <= 1;
  contested_cores_.expect(
      std::max(here.ranks, static_cast<int>(here.cpus.size())));
}

// Over a network a second socket evens out what one loses to acknowledgements
// (98 % of a 1 Gbit/s link instead of 97); over loopback it only spoils the
// caches.
int Group::long_streams(int member) const {
  if (options_.tcp_streams > 0) return options_.tcp_streams;
  return endpoint_->by_loopback(member) ? 1 : 2;
}

void Group::make_channels() {
  channels_.resize(members_.size());
  for (int peer = 0; peer < size(); ++peer) {
    auto& channel = channels_[static_cast<size_t>(peer)];
    switch (link(peer)) {
      case Link::kSelf: break;
      case Link::kInproc:
      case Link::kShm: {
        const auto at =
            std::find(local_ranks_.begin(), local_ranks_.end(), peer);
        channel = std::make_unique<PipeChannel>(
            own_board_, boards_[static_cast<size_t>(at - local_ranks_.begin())],
            rank_, peer);
        break;
      }
      case Link::kTcp:
        channel = std::make_unique<TcpChannel>(
            endpoint_, members_[static_cast<size_t>(peer)], id_,
            long_streams(members_[static_cast<size_t>(peer)]),
            options_.connect_timeout);
        break;
    }
  }
}

}  // namespace rondo
