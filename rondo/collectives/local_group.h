// LocalGroup: what the ranks of one host do together in shared memory.
//
// Publications are numbered by an epoch that all of them count alike. In epoch
// e a rank fills slot e % 2 of its board and then reads everybody's. A slot can
// be used again two epochs later: whoever publishes e + 2 has seen everybody's
// e + 1, and nobody publishes e + 1 before it is done with e.
//
// Three ways to move data:
//   one shot  the payload lies in the slot; everybody reads all slots. One
//             publication and no fence: for small vectors.
//   in place  slots hold addresses; rank i reads slice i of everybody's input,
//             reduces in registers and stores into everybody's output. Needs
//             buffers that all can map (or, slower, process_vm_readv).
//   staged    slices are copied through the stages, round by round: for foreign
//             buffers.
//
// Used by one operation at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rondo/collectives/call.h"
#include "rondo/collectives/group.h"
#include "rondo/collectives/plan.h"
#include "rondo/collectives/waiter.h"

namespace rondo {

class LocalGroup {
 public:
  explicit LocalGroup(Group& group);

  int size() const { return size_; }

  // The whole call in one shot, or false when its payload is too large. For
  // groups on one host only.
  bool fits_one_shot(const Call& call) const;
  Status one_shot(const Call& call);

  // Shows everybody here the call's buffers and waits for theirs.
  Status share(const Call& call, Waiter& waiter);
  // After share(): whether all shared buffers can be used in place, or at least
  // read and written. The same answer on all ranks here.
  bool in_place_possible() const { return all_mapped_; }
  bool reachable() const { return all_mapped_ || group_.remote_access(); }

  // After share(): runs one kSliceReduce or kPull. kSliceReduce towards others
  // needs reachable(). Fails when a rank here has withdrawn its buffers.
  Status work(const Call& call, const Action& action);
  // An operation has failed on this rank, and the group with it: when this
  // returns nobody here uses its buffers any more. Waits for who is at it, but
  // not for long: it may be stopped.
  void withdraw();
  Status fence(const Call& call, Waiter& waiter);

  // Allreduce through the stages, after share(): by ordinary copies, which need
  // no permission and, unlike process_vm_readv, stay in the caches.
  Status staged_allreduce(const Call& call, Waiter& waiter);

 private:
  Status slice_reduce(const Call& call, const Action& action);
  Status pull(const Call& call, const Action& action);
  Slot& slot(int local) const { return group_.board(local)->slots[epoch_ % 2]; }
  void publish(const Call& call, const void* payload, size_t bytes,
               bool addresses);
  Status await(const Call& call, Waiter& waiter);
  void ring_all();
  Status compare(const Call& call, int local, const OpTag& theirs);
  // Slot payloads in rank order.
  std::span<const void* const> payloads(size_t bytes, size_t offset);
  char* scratch(size_t bytes);
  int local_of(int rank) const;
  Status reached(const Call& call, int local, const Status& status);
  Status reduce_remote(const Call& call, const Action& action);
  void fill_stage(const Call& call, int64_t done);
  char* stage(int local) const {
    return group_.board(local)->stage[rounds_ % 2];
  }

  Group& group_;
  const int size_;
  const int me_;
  const bool threads_;  // of one process, all of them
  uint64_t epoch_ = 0;
  uint64_t fences_ = 0;
  uint64_t rounds_ = 0;  // of staged operations, all of them
  bool all_mapped_ = false;
  bool all_foreign_ = false;
  std::vector<const void*> sources_;  // one per local rank
  std::vector<void*> targets_;
  std::vector<char> scratch_;
};

}  // namespace rondo
