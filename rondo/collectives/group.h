// Group: the members of a communicator as one rank sees them: how it reaches
// each, what it is doing, and whether the group has failed.
//
// A failure is decided once, by whichever rank sees it first; fail() keeps it,
// tells every member and wakes whoever waits. Afterwards every operation
// returns it. Thread-safe but for channels, which belong to the running
// operation.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/collectives/contested_cores.h"
#include "rondo/collectives/operation.h"
#include "rondo/transport/channel.h"
#include "rondo/transport/endpoint.h"
#include "rondo/transport/shm/board.h"
#include "rondo/transport/shm/peer_memory.h"

namespace rondo {

struct GroupOptions {
  std::string name = "world";
  std::string transport = "auto";
  Duration connect_timeout = seconds(120);
  int tcp_streams = 0;  // for long messages; 0: by the kind of connection
  bool remote_memory = true;
};

// How this rank reaches one member.
enum class Link : uint8_t { kSelf, kInproc, kShm, kTcp };
std::string_view name_of(Link link);

// An OpTag that one thread stores and others read, whole or not at all.
class SharedTag {
 public:
  void store(const OpTag& tag);
  // A tag without a sequence while a store is under way.
  OpTag load() const;

 private:
  std::atomic<uint64_t> version_{0};  // odd: being stored
  std::atomic<uint64_t> words_[3] = {};
};

class Group final : public GroupHandler {
 public:
  // Collective over `members` (ranks of the endpoint's world, in the order that
  // numbers them here). `id` is the same on all of them and new.
  static Result<std::shared_ptr<Group>> form(
      const std::shared_ptr<Endpoint>& endpoint, uint64_t id,
      std::vector<int> members, GroupOptions options, Deadline deadline);
  ~Group() override;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  uint64_t id() const { return id_; }
  const GroupOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }
  const std::shared_ptr<Endpoint>& endpoint() const { return endpoint_; }
  const std::vector<int>& members() const { return members_; }
  // The rank here of a rank of the endpoint's world; -1: not a member.
  int index_of(int world_rank) const;

  Link link(int peer) const { return links_[static_cast<size_t>(peer)]; }
  // A small number per host: ranks that share memory have the same.
  const std::vector<int>& host_of() const { return host_of_; }
  int hosts() const { return hosts_; }
  // The ranks on this rank's host in order, and this rank's place among them.
  const std::vector<int>& local_ranks() const { return local_ranks_; }
  int local_index() const { return local_index_; }
  // Whether spinning is harmless: every rank here has a core of its own.
  bool may_spin() const { return may_spin_; }
  // Whether other programs want the cores as well, so that a rank that yields
  // loses one for a slice of theirs; asked once by each operation.
  bool contested() const {
    return contested_cores_.ever_found() &&
           contested_cores_.found(Clock::now());
  }
  // A yield took long; whether the cores are taken for contested from now on.
  bool yielded_long();
  // Ranks per core on the fullest host, at least 1. The same on all ranks.
  double crowding() const { return crowding_; }
  // Whether every pair of ranks on every host has mapped each other's heap, and
  // whether it can use process_vm_readv/writev. The same on all ranks.
  bool maps_heaps() const { return maps_heaps_; }
  bool remote_access() const { return remote_access_; }

  Channel& channel(int peer) { return *channels_[static_cast<size_t>(peer)]; }
  // For tests: another channel in the place of a peer's own.
  std::unique_ptr<Channel> take_channel(int peer) {
    return std::move(channels_[static_cast<size_t>(peer)]);
  }
  void set_channel(int peer, std::unique_ptr<Channel> channel) {
    channels_[static_cast<size_t>(peer)] = std::move(channel);
  }
  Board* board(int local) const {
    return boards_[static_cast<size_t>(local)].get();
  }
  const PeerMemory& memory(int local) const {
    return memories_[static_cast<size_t>(local)];
  }
  // This rank's own doorbell; rung by peers on the host and by failures.
  Doorbell& doorbell() { return own_board_->doorbell; }
  // Readable when something happened that a poll should look at.
  int event_fd() const { return event_.get(); }
  void clear_event();

  // "rank 3 (node7, pid 81233)", by the group's numbering.
  std::string describe(int peer) const;

  // ---- What this rank is doing -------------------------------------------
  void enter(const OpTag& tag);
  // That it has come to a stand, for want of something from `peers`.
  void wait_for(std::span<const int> peers);
  void leave();

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status failure() const;
  // Decides that the group has failed (the first decision stands), tells
  // everybody, and returns the failure that stands.
  Status fail(Status why);
  bool left(int peer) const {
    return gone_[static_cast<size_t>(peer)].load(std::memory_order_acquire);
  }
  Status left_error(const OpTag& tag, int peer) const;
  // Fails the group because `peer` left while this rank, in `tag`, waits for
  // it, or because of what the others are doing if that explains it.
  Status deserted(const OpTag& tag, int peer);
  // Fails the group because `peer` could not be reached in `tag`. A peer that
  // is gone is named by the endpoint, which may see it a moment later than a
  // broken stream or a refused read of memory does.
  Status broken(const OpTag& tag, int peer, const Status& cause);
  // Fails the group because `peer` called `theirs` where this rank, in `mine`,
  // expected something else. Where one of the two is ahead, what it called
  // before is looked up, so that the error compares what should be the same.
  Status mismatch(const OpTag& mine, int peer, const OpTag& theirs);

  // Fails the group because this rank's caller gave `tag` up (Interrupt).
  Status interrupted(const OpTag& tag);
  // Fails the group because the caller's operator failed here in `tag`.
  Status operator_failed(const OpTag& tag, const Status& cause);

  // Asks the members what they are doing while this rank is stuck in `tag`
  // waiting for `waiting_on`. A member in another operation with the same
  // number fails the group at once; `final` says that the time-out has passed
  // and somebody has to be named.
  Status inspect(const OpTag& tag, std::span<const int> waiting_on, bool final,
                 Duration waited);

  // GroupHandler.
  void on_lost(int peer, const Status& why) override;
  void on_left(int peer) override;
  void on_abort(int peer, Status failure) override;
  void on_stream() override;
  std::string report() override;

 private:
  static constexpr size_t kRemembered = 16;
  struct Report;

  Group() = default;
  struct Attached;
  Endpoint::GiveUp unless_left() const;
  Result<Attached> attach_boards(Deadline deadline);
  void derive_hosts(const std::vector<std::string>& rows);
  Status check_transport() const;
  void keep_local(Attached attached);
  int long_streams(int member) const;
  void make_channels();
  std::string waited_for(uint64_t packed) const;
  void keep(Status why);
  void wake();

  std::shared_ptr<Endpoint> endpoint_;
  uint64_t id_ = 0;
  GroupOptions options_;
  std::vector<int> members_;
  int rank_ = 0;

  std::vector<Link> links_;
  std::vector<int> host_of_;
  int hosts_ = 1;
  std::vector<int> local_ranks_;
  int local_index_ = 0;
  bool may_spin_ = false;
  ContestedCores contested_cores_;
  double crowding_ = 1;
  bool maps_heaps_ = false;
  bool remote_access_ = false;

  BoardView own_board_;
  std::vector<BoardView> boards_;                   // by local index
  std::vector<PeerMemory> memories_;                // by local index
  std::vector<std::unique_ptr<Channel>> channels_;  // by rank; none for self
  Fd event_;

  // What report() answers: stored by the running operation, read by the
  // endpoint's thread.
  SharedTag entered_;
  SharedTag history_[kRemembered];  // the latest collectives, by sequence
  std::atomic<bool> inside_{false};
  // The first of those waited for: four numbers of 16 bits, rank + 1 each.
  std::atomic<uint64_t> waiting_for_{0};

  std::unique_ptr<std::atomic<bool>[]> gone_;  // who has left, by rank
  std::atomic<bool> failed_{false};
  mutable std::mutex failure_mutex_;
  Status failure_;  // guarded by failure_mutex_
};

}  // namespace rondo
