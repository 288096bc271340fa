#include "rondo/collectives/local_group.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "rondo/collectives/algorithms.h"
#include "rondo/collectives/direct_plans.h"
#include "rondo/tensor/heap.h"
#include "rondo/tensor/reduce.h"

namespace rondo {
namespace {

// Larger vectors than this are reduced in slices.
constexpr size_t kOneShotBytes = 16 << 10;
// Results larger than this go past the caches.
constexpr size_t kStreamingBytes = 4 << 20;
// Foreign memory is read in pieces that stay in the second-level cache.
constexpr size_t kRemotePiece = 256 << 10;

const char* offset(const void* p, int64_t elements, size_t element) {
  return static_cast<const char*>(p) + static_cast<size_t>(elements) * element;
}
char* offset(void* p, int64_t elements, size_t element) {
  return static_cast<char*>(p) + static_cast<size_t>(elements) * element;
}

BufferAddress address_of(const void* p, size_t bytes) {
  const auto heap_offset = SharedHeap::process().offset_of(p, bytes);
  return {reinterpret_cast<uint64_t>(p), heap_offset.value_or(kForeign)};
}

}  // namespace

LocalGroup::LocalGroup(Group& group)
    : group_(group),
      size_(static_cast<int>(group.local_ranks().size())),
      me_(group.local_index()),
      threads_(std::none_of(
          group.local_ranks().begin(), group.local_ranks().end(),
          [&group](int rank) { return group.link(rank) == Link::kShm; })),
      sources_(static_cast<size_t>(size_)),
      targets_(static_cast<size_t>(size_)) {}

char* LocalGroup::scratch(size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

int LocalGroup::local_of(int rank) const {
  const auto& ranks = group_.local_ranks();
  return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) -
                          ranks.begin());
}

void LocalGroup::ring_all() {
  for (int i = 0; i < size_; ++i)
    if (i != me_) group_.board(i)->doorbell.ring();
}

void LocalGroup::publish(const Call& call, const void* payload, size_t bytes,
                         bool addresses) {
  ++epoch_;
  Slot& mine = slot(me_);
  mine.tag = call.tag;
  if (bytes > 0)
    std::memcpy(bytes <= sizeof mine.small ? mine.small : mine.payload, payload,
                bytes);
  if (addresses) {
    const auto element = call.element();
    mine.input =
        address_of(call.in, static_cast<size_t>(call.in_count) * element);
    mine.output =
        address_of(call.out, static_cast<size_t>(call.out_count) * element);
  }
  mine.epoch.store(epoch_, std::memory_order_seq_cst);
  ring_all();
}

Status LocalGroup::await(const Call& call, Waiter& waiter) {
  for (int i = 0; i < size_; ++i) {
    if (i == me_) continue;
    const Slot& theirs = slot(i);
    const uint64_t epoch = epoch_;
    RONDO_RETURN_IF_ERROR(waiter.wait(
        group_.local_ranks()[static_cast<size_t>(i)], [&theirs, epoch] {
          return theirs.epoch.load(std::memory_order_seq_cst) == epoch;
        }));
    if (theirs.tag != call.tag) return compare(call, i, theirs.tag);
  }
  return {};
}

Status LocalGroup::compare(const Call& call, int local, const OpTag& theirs) {
  const int peer = group_.local_ranks()[static_cast<size_t>(local)];
  return group_.mismatch(call.tag, peer, theirs);
}

Status LocalGroup::fence(const Call& call, Waiter& waiter) {
  (void)call;
  ++fences_;
  group_.board(me_)->fence.store(fences_, std::memory_order_seq_cst);
  ring_all();
  for (int i = 0; i < size_; ++i) {
    if (i == me_) continue;
    const auto& theirs = group_.board(i)->fence;
    const uint64_t wanted = fences_;
    RONDO_RETURN_IF_ERROR(waiter.wait(
        group_.local_ranks()[static_cast<size_t>(i)], [&theirs, wanted] {
          return theirs.load(std::memory_order_seq_cst) >= wanted;
        }));
  }
  return {};
}

Status LocalGroup::share(const Call& call, Waiter& waiter) {
  const auto bytes = static_cast<size_t>(call.in_count) * call.element();
  const bool foreign =
      !SharedHeap::process().offset_of(call.in, bytes).has_value();
  // If all buffers are foreign, as this one is, the stages will be used: having
  // filled this one already saves a meeting.
  if (foreign && !threads_ &&
      call.tag.algorithm == static_cast<uint8_t>(Algorithm::kDirect))
    fill_stage(call, 0);
  publish(call, nullptr, 0, true);
  RONDO_RETURN_IF_ERROR(await(call, waiter));
  // Ranks that are threads of one process need no heap.
  all_mapped_ = threads_ || group_.maps_heaps();
  all_foreign_ = true;
  for (int i = 0; i < size_; ++i) {
    const Slot& s = slot(i);
    all_mapped_ = threads_ || (all_mapped_ && s.input.heap_offset != kForeign &&
                               s.output.heap_offset != kForeign);
    all_foreign_ = all_foreign_ && s.input.heap_offset == kForeign;
  }
  return {};
}

// ---- One shot ---------------------------------------------------------------

namespace {

// How many bytes this rank shows in its slot for the call; the same rule gives
// the largest of all ranks when asked with root's eyes.
int64_t largest_payload(const Call& call, int n) {
  switch (call.operation) {
    case Operation::kAllreduce:
    case Operation::kReduce:
    case Operation::kGather: return call.in_count;
    case Operation::kBroadcast: return call.out_count;
    case Operation::kAllgather: return call.in_count;
    case Operation::kAllgatherv:
      return *std::max_element(call.counts.begin(), call.counts.end());
    case Operation::kReduceScatter: return call.in_count;
    case Operation::kScatter: return call.out_count * n;
    case Operation::kAllToAll: return call.in_count;
    case Operation::kBarrier: return 0;
    default: return INT64_MAX;
  }
}

}  // namespace

bool LocalGroup::fits_one_shot(const Call& call) const {
  // In one shot every rank reduces everything; in place each only its slice.
  const size_t limit =
      call.operation == Operation::kAllreduce ? kOneShotBytes : kSlotBytes;
  return largest_payload(call, size_) <=
         static_cast<int64_t>(limit / call.element());
}

std::span<const void* const> LocalGroup::payloads(size_t bytes,
                                                  size_t offset_bytes) {
  for (int i = 0; i < size_; ++i) {
    Slot& s = slot(i);
    sources_[static_cast<size_t>(i)] =
        (bytes <= sizeof s.small ? s.small : s.payload) + offset_bytes;
  }
  return sources_;
}

Status LocalGroup::one_shot(const Call& call) {
  const size_t element = call.element();
  const bool root = call.root == group_.rank();
  const size_t shown = [&]() -> size_t {
    if (call.operation == Operation::kScatter)
      return root ? static_cast<size_t>(call.in_count) * element : 0;
    if (call.operation == Operation::kBroadcast)
      return root ? static_cast<size_t>(call.out_count) * element : 0;
    return static_cast<size_t>(call.in_count) * element;
  }();
  Waiter waiter(group_, call.tag, call.timeout, call.total_timeout);
  publish(call, call.operation == Operation::kBroadcast ? call.out : call.in,
          shown, false);
  RONDO_RETURN_IF_ERROR(await(call, waiter));

  const size_t out_bytes = static_cast<size_t>(call.out_count) * element;
  char* out = static_cast<char*>(call.out);
  switch (call.operation) {
    case Operation::kAllreduce:
    case Operation::kReduce: {
      if (call.operation == Operation::kReduce && !root) return {};
      void* const target = out;
      return combine_many(call, {&target, 1}, payloads(shown, 0), call.in_count,
                          size_, false, scratch(kCombineBytes));
    }
    case Operation::kReduceScatter: {
      void* const target = out;
      return combine_many(
          call, {&target, 1},
          payloads(shown, static_cast<size_t>(group_.rank()) * out_bytes),
          call.out_count, size_, false, scratch(kCombineBytes));
    }
    case Operation::kBroadcast:
      if (!root && out_bytes > 0)
        std::memcpy(out, payloads(out_bytes, 0)[static_cast<size_t>(call.root)],
                    out_bytes);
      return {};
    case Operation::kAllgather:
    case Operation::kGather:
      if (call.operation == Operation::kGather && !root) return {};
      for (const void* source : payloads(shown, 0)) {
        if (shown > 0) std::memcpy(out, source, shown);
        out += shown;
      }
      return {};
    case Operation::kAllgatherv:
      for (size_t i = 0; i < call.counts.size(); ++i) {
        const size_t bytes = static_cast<size_t>(call.counts[i]) * element;
        if (bytes > 0) std::memcpy(out, payloads(bytes, 0)[i], bytes);
        out += bytes;
      }
      return {};
    case Operation::kScatter: {
      const size_t total = out_bytes * static_cast<size_t>(size_);
      if (out_bytes > 0)
        std::memcpy(
            out,
            payloads(total, static_cast<size_t>(group_.rank()) *
                                out_bytes)[static_cast<size_t>(call.root)],
            out_bytes);
      return {};
    }
    case Operation::kAllToAll: {
      const size_t block = out_bytes / static_cast<size_t>(size_);
      for (const void* source :
           payloads(shown, static_cast<size_t>(group_.rank()) * block)) {
        if (block > 0) std::memcpy(out, source, block);
        out += block;
      }
      return {};
    }
    default: return {};
  }
}

// ---- In place ---------------------------------------------------------------

// Either a rank that withdraws sees the mark of one that is at work, or that
// one sees that the buffers are withdrawn: all four accesses are in one order.
Status LocalGroup::work(const Call& call, const Action& action) {
  std::atomic<uint32_t>& working = group_.board(me_)->working;
  working.store(1, std::memory_order_seq_cst);
  Status status;
  for (int i = 0; i < size_ && status.ok(); ++i)
    if (group_.board(i)->withdrawn.load(std::memory_order_seq_cst) != 0)
      status = reached(call, i,
                       error(Code::kPeerLost, "it has given the operation up"));
  if (status.ok())
    status = action.kind == ActionKind::kPull ? pull(call, action)
                                              : slice_reduce(call, action);
  working.store(0, std::memory_order_release);
  return status;
}

void LocalGroup::withdraw() {
  group_.board(me_)->withdrawn.store(1, std::memory_order_seq_cst);
  // No Deadline: an interrupted caller's has passed.
  const auto end = Clock::now() + std::chrono::milliseconds(500);
  for (int i = 0; i < size_; ++i) {
    if (i == me_) continue;
    const int rank = group_.local_ranks()[static_cast<size_t>(i)];
    const int world = group_.members()[static_cast<size_t>(rank)];
    while (group_.board(i)->working.load(std::memory_order_seq_cst) != 0 &&
           group_.endpoint()->lost(world).ok() && Clock::now() < end)
      sched_yield();
  }
}

Status LocalGroup::slice_reduce(const Call& call, const Action& action) {
  if (action.src.count == 0) return {};
  if (!all_mapped_) return reduce_remote(call, action);
  const size_t element = call.element();
  size_t targets = 0;
  for (int i = 0; i < size_; ++i) {
    const auto at = static_cast<size_t>(i);
    const bool own = i == me_;
    const Slot& s = slot(i);
    char* in = own ? static_cast<char*>(const_cast<void*>(call.in))
                   : group_.memory(i).resolve(s.input);
    char* out =
        own ? static_cast<char*>(call.out) : group_.memory(i).resolve(s.output);
    sources_[at] = offset(in, action.src.offset, element);
    if (action.peer < 0 || group_.local_ranks()[at] == action.peer)
      targets_[targets++] = offset(out, action.dst.offset, element);
  }
  const size_t bytes = static_cast<size_t>(action.src.count) * element;
  const bool streaming = bytes * static_cast<size_t>(size_) > kStreamingBytes;
  return combine_many(call, {targets_.data(), targets}, sources_,
                      action.src.count, action.finishes ? group_.size() : 1,
                      streaming, scratch(kCombineBytes));
}

// The same with process_vm_readv/writev: pieces of the others' inputs are read
// into scratch, reduced there, and written into the outputs that want them.
Status LocalGroup::reduce_remote(const Call& call, const Action& action) {
  const size_t element = call.element();
  const size_t piece = kRemotePiece / static_cast<size_t>(size_) / 64 * 64;
  const auto step = static_cast<int64_t>(piece / element);
  char* pieces =
      scratch(kCombineBytes + piece * static_cast<size_t>(size_ + 1)) +
      kCombineBytes;
  char* result = pieces + piece * static_cast<size_t>(size_);
  const bool to_own = action.peer < 0 || action.peer == group_.rank();
  for (int64_t done = 0; done < action.src.count; done += step) {
    const int64_t count = std::min(step, action.src.count - done);
    const size_t bytes = static_cast<size_t>(count) * element;
    const size_t from = static_cast<size_t>(action.src.offset + done) * element;
    const size_t to = static_cast<size_t>(action.dst.offset + done) * element;
    for (int i = 0; i < size_; ++i) {
      const auto at = static_cast<size_t>(i);
      sources_[at] = static_cast<const char*>(call.in) + from;
      if (i == me_) continue;
      char* place = pieces + piece * at;
      RONDO_RETURN_IF_ERROR(reached(
          call, i, group_.memory(i).read(slot(i).input, from, place, bytes)));
      sources_[at] = place;
    }
    void* const target = to_own ? static_cast<char*>(call.out) + to : result;
    RONDO_RETURN_IF_ERROR(combine_many(call, {&target, 1}, sources_, count,
                                       action.finishes ? group_.size() : 1,
                                       false, scratch_.data()));
    for (int i = 0; i < size_; ++i) {
      const bool wanted =
          action.peer < 0 ||
          group_.local_ranks()[static_cast<size_t>(i)] == action.peer;
      if (i == me_ || !wanted) continue;
      RONDO_RETURN_IF_ERROR(reached(
          call, i, group_.memory(i).write(slot(i).output, to, target, bytes)));
    }
  }
  return {};
}

// What became of an attempt to use the memory of the rank at `local`.
Status LocalGroup::reached(const Call& call, int local, const Status& status) {
  if (status.ok()) return {};
  return group_.broken(
      call.tag, group_.local_ranks()[static_cast<size_t>(local)], status);
}

Status LocalGroup::pull(const Call& call, const Action& action) {
  const size_t element = call.element();
  const size_t bytes = static_cast<size_t>(action.src.count) * element;
  if (bytes == 0) return {};
  const int local = local_of(action.peer);
  const BufferAddress& theirs = action.src.buffer == Buffer::kInput
                                    ? slot(local).input
                                    : slot(local).output;
  char* to = offset(call.out, action.dst.offset, element);
  if (local == me_) {
    const void* mine = action.src.buffer == Buffer::kInput ? call.in : call.out;
    const char* from = offset(mine, action.src.offset, element);
    if (from != to) std::memmove(to, from, bytes);
    return {};
  }
  if (char* from =
          all_mapped_ ? group_.memory(local).resolve(theirs) : nullptr) {
    copy_bytes(to, offset(from, action.src.offset, element), bytes,
               bytes > kStreamingBytes);
    return {};
  }
  return reached(
      call, local,
      group_.memory(local).read(
          theirs, static_cast<size_t>(action.src.offset) * element, to, bytes));
}

// ---- Staged -----------------------------------------------------------------

// One round moves kStageBytes of the vector. In it rank i owns part i:
// everybody puts its contribution to part i into place i of its stage; rank i
// reduces those with its own input, stores the result in its own output and in
// place i of its own stage, from where the others copy it. Rounds, of this
// operation and the next, take turns with the two stages: whoever fills a stage
// for round r + 2 has seen everybody's stage of round r + 1, which is filled
// after everybody's last copy of round r.
void LocalGroup::fill_stage(const Call& call, int64_t done) {
  const size_t element = call.element();
  const int64_t count = std::min<int64_t>(
      static_cast<int64_t>(kStageBytes / element), call.in_count - done);
  const char* in = offset(call.in, done, element);
  for (int k = 1; k < size_; ++k) {
    const Part part =
        aligned_part(count, size_, (me_ + k) % size_, 64 / int64_t(element));
    const size_t at = static_cast<size_t>(part.offset) * element;
    std::memcpy(stage(me_) + at, in + at,
                static_cast<size_t>(part.count) * element);
  }
}

Status LocalGroup::staged_allreduce(const Call& call, Waiter& waiter) {
  const size_t element = call.element();
  const auto unit = static_cast<int64_t>(64 / element);
  const int64_t total = call.in_count;
  const auto per_round = static_cast<int64_t>(kStageBytes / element);
  const bool streaming = static_cast<size_t>(total) * element > kStreamingBytes;
  for (int64_t done = 0; done < total; done += per_round, ++rounds_) {
    RONDO_RETURN_IF_ERROR(waiter.moving());
    const int64_t count = std::min(per_round, total - done);
    const char* in = offset(call.in, done, element);
    char* out = offset(call.out, done, element);
    if (done > 0 || !all_foreign_) {
      fill_stage(call, done);
      RONDO_RETURN_IF_ERROR(fence(call, waiter));
    }
    const Part own = aligned_part(count, size_, me_, unit);
    const size_t at = static_cast<size_t>(own.offset) * element;
    for (int i = 0; i < size_; ++i)
      sources_[static_cast<size_t>(i)] = i == me_ ? in + at : stage(i) + at;
    if (own.count > 0) {
      void* const targets[] = {out + at, stage(me_) + at};
      RONDO_RETURN_IF_ERROR(combine_many(call, targets, sources_, own.count,
                                         group_.size(), false,
                                         scratch(kCombineBytes)));
    }
    RONDO_RETURN_IF_ERROR(fence(call, waiter));
    for (int k = 1; k < size_; ++k) {
      const int owner = (me_ + k) % size_;
      const Part part = aligned_part(count, size_, owner, unit);
      const size_t place = static_cast<size_t>(part.offset) * element;
      copy_bytes(out + place, stage(owner) + place,
                 static_cast<size_t>(part.count) * element, streaming);
    }
  }
  return {};
}

}  // namespace rondo
