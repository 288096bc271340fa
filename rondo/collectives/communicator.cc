// The public face: checks arguments and makes Calls of them.
#include "rondo/collectives/communicator.h"

#include <numeric>

#include "rondo/base/interrupt.h"
#include "rondo/collectives/communicator_impl.h"

namespace rondo {
namespace {

constexpr Duration kWaitSlice = std::chrono::milliseconds(100);

Status null_error(Operation operation) {
  return error(Code::kInvalidArgument,
               "{}: a view has elements but no memory (nullptr)",
               name_of(operation));
}

Status check_count(Operation operation, std::string_view what, int64_t have,
                   int64_t want) {
  if (have == want) return {};
  return error(Code::kInvalidArgument, "{}: {} has {} elements, expected {}",
               name_of(operation), what, have, want);
}

// Arguments in the making: the first thing wrong is kept.
class Checked {
 public:
  Checked(CommunicatorImpl* impl, Operation operation,
          const CallOptions& options)
      : impl_(impl) {
    call_.operation = operation;
    call_.op = options.op;
    call_.user = options.user;
    call_.root = options.root;
    if (impl == nullptr) {
      fail(error(Code::kInvalidArgument,
                 "{}: this communicator is empty (default-made, or a split "
                 "with a negative color)",
                 name_of(operation)));
      return;
    }
    if (call_.root < 0 || call_.root >= impl->group().size())
      fail(error(Code::kInvalidArgument, "{}: root {} is not a rank of 0..{}",
                 name_of(operation), call_.root, impl->group().size() - 1));
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  Call& call() { return call_; }
  int n() const { return impl_ == nullptr ? 1 : impl_->group().size(); }
  int rank() const { return impl_ == nullptr ? 0 : impl_->group().rank(); }
  bool root() const { return rank() == call_.root; }

  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  void buffers(ConstView in, View out) {
    call_.dtype = in.dtype;
    call_.in = in.data;
    call_.out = out.data;
    call_.in_count = in.count;
    call_.out_count = out.count;
    if (in.dtype != out.dtype)
      fail(error(Code::kInvalidArgument, "{}: input is {}, output is {}",
                 name_of(call_.operation), name_of(in.dtype),
                 name_of(out.dtype)));
    if (in.count < 0 || out.count < 0)
      fail(error(Code::kInvalidArgument, "{}: a view has a negative count",
                 name_of(call_.operation)));
    if ((in.count > 0 && in.data == nullptr) ||
        (out.count > 0 && out.data == nullptr))
      fail(null_error(call_.operation));
  }
  void reduces() {
    if (call_.op == ReduceOp::kUser && !call_.user)
      fail(error(Code::kInvalidArgument,
                 "{}: op is user, but CallOptions::user is empty",
                 name_of(call_.operation)));
    if (call_.op != ReduceOp::kUser) fail(check_reduce(call_.op, call_.dtype));
  }
  void counts(std::string_view what, std::span<const int64_t> counts) {
    same(what, static_cast<int64_t>(counts.size()), n());
    for (int64_t count : counts)
      if (count < 0)
        fail(error(Code::kInvalidArgument, "{}: {} has a negative entry, {}",
                   name_of(call_.operation), what, count));
  }
  void count(int64_t count) { call_.tag.count = count; }
  void same(std::string_view what, int64_t have, int64_t want) {
    fail(check_count(call_.operation, what, have, want));
  }
  void algorithm(std::string_view name) {
    if (impl_ == nullptr) return;
    auto entry = impl_->named_algorithm(name);
    if (!entry.ok())
      fail(entry.status());
    else if (*entry != nullptr)
      call_.tag.algorithm = static_cast<uint8_t>((*entry)->id);
  }
  void peer(int peer) {
    if (impl_ != nullptr && (peer < 0 || peer >= n() || peer == rank()))
      fail(error(Code::kInvalidArgument,
                 "send/recv: peer {} is not another rank of 0..{}", peer,
                 n() - 1));
  }

 private:
  CommunicatorImpl* impl_;
  Call call_;
  Status status_;
};

int64_t sum(std::span<const int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

Checked make_allreduce(CommunicatorImpl* impl, ConstView in, View out,
                       const CallOptions& options) {
  Checked checked(impl, Operation::kAllreduce, options);
  checked.buffers(in, out);
  checked.reduces();
  checked.same("output", out.count, in.count);
  checked.algorithm(options.algorithm);
  checked.count(in.count);
  return checked;
}

Checked make_grouped(CommunicatorImpl* impl, std::span<const View> views,
                     const CallOptions& options) {
  Checked checked(impl, Operation::kAllreduce, options);
  int64_t total = 0;
  for (const View& view : views) {
    checked.buffers(view, view);
    if (view.dtype != views.front().dtype)
      checked.fail(error(Code::kInvalidArgument,
                         "allreduce of several tensors: all must have one "
                         "dtype, there are {} and {}",
                         name_of(views.front().dtype), name_of(view.dtype)));
    total += view.count;
  }
  checked.reduces();
  checked.algorithm(options.algorithm);
  checked.call().views.assign(views.begin(), views.end());
  checked.count(total);
  return checked;
}

Checked make_reduce(CommunicatorImpl* impl, ConstView in, View out,
                    const CallOptions& options) {
  Checked checked(impl, Operation::kReduce, options);
  if (checked.root()) {
    checked.buffers(in, out);
    checked.same("output", out.count, in.count);
  } else {
    // The output is ignored; the input stands in where an address is wanted.
    checked.buffers(in, {const_cast<void*>(in.data), in.count, in.dtype});
  }
  checked.reduces();
  checked.count(in.count);
  return checked;
}

Checked make_broadcast(CommunicatorImpl* impl, View x,
                       const CallOptions& options) {
  Checked checked(impl, Operation::kBroadcast, options);
  checked.buffers(x, x);
  checked.count(x.count);
  return checked;
}

Checked make_allgather(CommunicatorImpl* impl, ConstView in, View out,
                       const CallOptions& options) {
  Checked checked(impl, Operation::kAllgather, options);
  checked.buffers(in, out);
  checked.same("output", out.count, in.count * checked.n());
  checked.count(in.count);
  return checked;
}

Checked make_allgatherv(CommunicatorImpl* impl, ConstView in, View out,
                        std::span<const int64_t> counts,
                        const CallOptions& options) {
  Checked checked(impl, Operation::kAllgatherv, options);
  checked.buffers(in, out);
  checked.counts("counts", counts);
  if (checked.ok()) {
    checked.same("input", in.count,
                 counts[static_cast<size_t>(checked.rank())]);
    checked.same("output", out.count, sum(counts));
  }
  checked.call().counts.assign(counts.begin(), counts.end());
  checked.count(sum(counts));
  return checked;
}

Checked make_reduce_scatter(CommunicatorImpl* impl, ConstView in, View out,
                            const CallOptions& options) {
  Checked checked(impl, Operation::kReduceScatter, options);
  checked.buffers(in, out);
  checked.reduces();
  checked.same("input", in.count, out.count * checked.n());
  checked.count(out.count);
  return checked;
}

Checked make_gather(CommunicatorImpl* impl, ConstView in, View out,
                    const CallOptions& options) {
  Checked checked(impl, Operation::kGather, options);
  if (checked.root()) {
    checked.buffers(in, out);
    checked.same("output", out.count, in.count * checked.n());
  } else {
    checked.buffers(in, {const_cast<void*>(in.data), in.count, in.dtype});
  }
  checked.count(in.count);
  return checked;
}

Checked make_scatter(CommunicatorImpl* impl, ConstView in, View out,
                     const CallOptions& options) {
  Checked checked(impl, Operation::kScatter, options);
  if (checked.root()) {
    checked.buffers(in, out);
    checked.same("input", in.count, out.count * checked.n());
  } else {
    checked.buffers(out, out);
  }
  checked.count(out.count);
  return checked;
}

Checked make_all_to_all(CommunicatorImpl* impl, ConstView in, View out,
                        const CallOptions& options) {
  Checked checked(impl, Operation::kAllToAll, options);
  checked.buffers(in, out);
  checked.same("output", out.count, in.count);
  if (checked.ok() && in.count % checked.n() != 0)
    checked.fail(error(Code::kInvalidArgument,
                       "all_to_all: {} elements do not divide into {} equal "
                       "blocks; use all_to_allv",
                       in.count, checked.n()));
  if (in.data == out.data && in.count > 0)
    checked.fail(
        error(Code::kInvalidArgument,
              "all_to_all: input and output must be different memory"));
  checked.count(in.count / checked.n());
  return checked;
}

Checked make_all_to_allv(CommunicatorImpl* impl, ConstView in,
                         std::span<const int64_t> send_counts, View out,
                         std::span<const int64_t> recv_counts,
                         const CallOptions& options) {
  Checked checked(impl, Operation::kAllToAllv, options);
  checked.buffers(in, out);
  checked.counts("send_counts", send_counts);
  checked.counts("recv_counts", recv_counts);
  checked.same("input", in.count, sum(send_counts));
  checked.same("output", out.count, sum(recv_counts));
  if (in.data == out.data && in.count > 0)
    checked.fail(
        error(Code::kInvalidArgument,
              "all_to_allv: input and output must be different memory"));
  checked.call().send_counts.assign(send_counts.begin(), send_counts.end());
  checked.call().counts.assign(recv_counts.begin(), recv_counts.end());
  return checked;
}

Checked make_barrier(CommunicatorImpl* impl, const CallOptions& options) {
  return Checked(impl, Operation::kBarrier, options);
}

Checked make_batch(CommunicatorImpl* impl, std::span<const Transfer> transfers,
                   const CallOptions& options) {
  Checked checked(impl, Operation::kMessage, options);
  for (const Transfer& t : transfers) {
    checked.peer(t.peer);
    if (t.count < 0 || (t.count > 0 && t.data == nullptr))
      checked.fail(null_error(Operation::kMessage));
  }
  checked.call().dtype = DType::kU8;
  checked.call().transfers.assign(transfers.begin(), transfers.end());
  return checked;
}

Status run(CommunicatorImpl* impl, Checked checked,
           const CallOptions& options) {
  if (!checked.ok()) return checked.status();
  return impl->run(checked.call(), options);
}

}  // namespace

Status UserReduce::operator()(void* inout, const void* in, int64_t count,
                              DType dtype) const try {
  return apply_(inout, in, count, dtype);
} catch (const Error& e) {
  return {e.code(), e.what()};
} catch (const std::exception& e) {
  return {Code::kCancelled, e.what()};
} catch (...) {
  return {Code::kCancelled, "it threw something that is no std::exception"};
}

// ---- Work -------------------------------------------------------------------

Status Work::wait() {
  if (op_ == nullptr) return {};
  std::unique_lock lock(op_->mutex);
  // The memory is the operation's until it is over, so an interrupted wait ends
  // the operation and then waits for that.
  bool given_up = false;
  while (!op_->over.wait_for(lock, kWaitSlice, [this] { return op_->done; })) {
    lock.unlock();
    if (!given_up && Interrupt::raised()) {
      given_up = true;
      op_->cancel();
    }
    lock.lock();
  }
  return op_->status;
}

Status Work::wait(Duration timeout) {
  if (op_ == nullptr) return {};
  std::unique_lock lock(op_->mutex);
  if (!op_->over.wait_for(lock, timeout, [this] { return op_->done; }))
    return rondo::error(Code::kTimeout, "{} is still under way after {:.3f} s",
                        describe(op_->call.tag), to_seconds(timeout));
  return op_->status;
}

bool Work::test() const {
  if (op_ == nullptr) return true;
  std::lock_guard lock(op_->mutex);
  return op_->done;
}

Status Work::error() const {
  if (op_ == nullptr) return {};
  std::lock_guard lock(op_->mutex);
  return op_->status;
}

void Work::cancel() {
  if (op_ == nullptr || test()) return;
  op_->cancel();
}

// ---- Communicator -----------------------------------------------------------

int Communicator::rank() const { return valid() ? impl_->group().rank() : -1; }
int Communicator::size() const { return valid() ? impl_->group().size() : 0; }
const std::string& Communicator::name() const { return impl_->group().name(); }

std::string_view Communicator::transport_to(int peer) const {
  return name_of(impl_->group().link(peer));
}

std::string_view Communicator::algorithm_for(int64_t count, DType dtype) const {
  return impl_->algorithm_for(count * static_cast<int64_t>(size_of(dtype)))
      .name;
}

Traffic Communicator::traffic() const { return impl_->traffic(); }

void Communicator::abort(const std::string& reason) {
  if (!valid()) return;
  (void)impl_->group()
      .fail(error(Code::kCancelled,
                  "communicator {} was aborted by rank {}: {}", name(), rank(),
                  reason))
      .ok();
}

Result<Communicator> Communicator::split(int color, int key) {
  if (!valid())
    return error(Code::kInvalidArgument, "split: this communicator is empty");
  return impl_->split(color, key);
}

Work Communicator::finished(Status status) {
  auto op = std::make_shared<OpState>();
  op->finish(std::move(status));
  return Work(op);
}

// Each operation twice: blocking, and asynchronous.
#define RONDO_OPERATION(NAME, PARAMETERS, MAKE)              \
  Status Communicator::NAME PARAMETERS {                     \
    return run(impl_.get(), MAKE, options);                  \
  }                                                          \
  Work Communicator::NAME##_async PARAMETERS {               \
    Checked checked = MAKE;                                  \
    if (!checked.ok()) return finished(checked.status());    \
    return impl_->start(std::move(checked.call()), options); \
  }

RONDO_OPERATION(allreduce, (View x, const CallOptions& options),
                make_allreduce(impl_.get(), x, x, options))
RONDO_OPERATION(allreduce, (ConstView in, View out, const CallOptions& options),
                make_allreduce(impl_.get(), in, out, options))
RONDO_OPERATION(allreduce,
                (std::span<const View> xs, const CallOptions& options),
                make_grouped(impl_.get(), xs, options))
RONDO_OPERATION(reduce, (ConstView in, View out, const CallOptions& options),
                make_reduce(impl_.get(), in, out, options))
RONDO_OPERATION(broadcast, (View x, const CallOptions& options),
                make_broadcast(impl_.get(), x, options))
RONDO_OPERATION(allgather, (ConstView in, View out, const CallOptions& options),
                make_allgather(impl_.get(), in, out, options))
RONDO_OPERATION(allgatherv,
                (ConstView in, View out, std::span<const int64_t> counts,
                 const CallOptions& options),
                make_allgatherv(impl_.get(), in, out, counts, options))
RONDO_OPERATION(reduce_scatter,
                (ConstView in, View out, const CallOptions& options),
                make_reduce_scatter(impl_.get(), in, out, options))
RONDO_OPERATION(gather, (ConstView in, View out, const CallOptions& options),
                make_gather(impl_.get(), in, out, options))
RONDO_OPERATION(scatter, (ConstView in, View out, const CallOptions& options),
                make_scatter(impl_.get(), in, out, options))
RONDO_OPERATION(all_to_all,
                (ConstView in, View out, const CallOptions& options),
                make_all_to_all(impl_.get(), in, out, options))
RONDO_OPERATION(all_to_allv,
                (ConstView in, std::span<const int64_t> send_counts, View out,
                 std::span<const int64_t> recv_counts,
                 const CallOptions& options),
                make_all_to_allv(impl_.get(), in, send_counts, out, recv_counts,
                                 options))
RONDO_OPERATION(barrier, (const CallOptions& options),
                make_barrier(impl_.get(), options))

#undef RONDO_OPERATION

Status Communicator::batch(std::span<const Transfer> transfers,
                           const CallOptions& options) {
  return run(impl_.get(), make_batch(impl_.get(), transfers, options), options);
}

Work Communicator::batch_async(std::span<const Transfer> transfers,
                               const CallOptions& options) {
  Checked checked = make_batch(impl_.get(), transfers, options);
  if (!checked.ok()) return finished(checked.status());
  return impl_->start(std::move(checked.call()), options);
}

Status Communicator::send(ConstView from, int peer,
                          const CallOptions& options) {
  const Transfer transfer = Transfer::send(from, peer);
  return batch({&transfer, 1}, options);
}

Status Communicator::recv(View into, int peer, const CallOptions& options) {
  const Transfer transfer = Transfer::recv(into, peer);
  return batch({&transfer, 1}, options);
}

Status Communicator::sendrecv(ConstView from, int to_peer, View into,
                              int from_peer, const CallOptions& options) {
  const Transfer transfers[] = {Transfer::send(from, to_peer),
                                Transfer::recv(into, from_peer)};
  return batch(transfers, options);
}

Work Communicator::send_async(ConstView from, int peer,
                              const CallOptions& options) {
  const Transfer transfer = Transfer::send(from, peer);
  return batch_async({&transfer, 1}, options);
}

Work Communicator::recv_async(View into, int peer, const CallOptions& options) {
  const Transfer transfer = Transfer::recv(into, peer);
  return batch_async({&transfer, 1}, options);
}

}  // namespace rondo
