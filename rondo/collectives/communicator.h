// Communicator: a group of ranks that communicate together.
//
//   auto comm = rondo::Communicator::world().value();
//   comm.allreduce(x).value();                          // sum, in place
//   rondo::Work work = comm.allreduce_async(std::span(v));
//   work.wait().value();
//
// Every rank of the group calls the same operations in the same order with
// matching arguments; a difference is an error on all of them
// (Code::kMismatch). Operations run in the order of their calls. A blocking
// call is driven by its caller; asynchronous ones by a thread of the
// communicator's. A failure is final for the communicator: every waiting and
// every later call returns it.
//
// Copies of a Communicator are the same communicator; it closes when the last
// copy is gone and its operations are over. Any thread may call, but which call
// comes first must not differ between ranks, so several threads need an order
// of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/env.h"
#include "rondo/base/status.h"
#include "rondo/rendezvous/store.h"
#include "rondo/tensor/dtype.h"
#include "rondo/tensor/reduce.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

class CommunicatorImpl;
struct OpState;

// Elements in somebody's memory. A Tensor and any contiguous range of a dtype's
// C++ type convert to it. Memory of a Tensor is reduced in place by peers on
// the same host ("mapped"); any other memory works too ("foreign").
struct View {
  void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kF32;

  View() = default;
  View(void* p, int64_t n, DType t) : data(p), count(n), dtype(t) {}
  View(Tensor& t) : View(t.data(), t.count(), t.dtype()) {}
  template <Element T>
  View(std::span<T> s)
      : View(s.data(), static_cast<int64_t>(s.size()), dtype_of<T>) {}
  template <Element T>
  View(std::vector<T>& v) : View(std::span<T>(v)) {}
};

// The same for memory that is only read.
struct ConstView {
  const void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kF32;

  ConstView() = default;
  ConstView(const void* p, int64_t n, DType t) : data(p), count(n), dtype(t) {}
  ConstView(View v) : ConstView(v.data, v.count, v.dtype) {}
  ConstView(const Tensor& t) : ConstView(t.data(), t.count(), t.dtype()) {}
  template <class T>
  requires Element<std::remove_const_t<T>> ConstView(std::span<T> s)
      : ConstView(s.data(), static_cast<int64_t>(s.size()),
                  dtype_of<std::remove_const_t<T>>) {}
  template <Element T>
  ConstView(const std::vector<T>& v) : ConstView(std::span<const T>(v)) {}
};

// inout[i] = inout[i] op in[i]: an operator of the caller's, associative and
// commutative. Any callable (void* inout, const void* in, int64_t count, DType)
// that returns nothing or a Status. One that fails, by its Status or by an
// exception, fails the operation and with it the communicator: on this rank
// with that reason, on the others with this rank's name (docs/errors.md).
class UserReduce {
 public:
  UserReduce() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, UserReduce> &&
           std::is_invocable_v<F&, void*, const void*, int64_t, DType>)
      UserReduce(F f)
      : apply_([f = std::move(f)](void* inout, const void* in, int64_t count,
                                  DType dtype) mutable -> Status {
          if constexpr (std::is_void_v<std::invoke_result_t<
                            F&, void*, const void*, int64_t, DType>>) {
            f(inout, in, count, dtype);
            return {};
          } else {
            return f(inout, in, count, dtype);
          }
        }) {}

  explicit operator bool() const { return apply_ != nullptr; }
  // What it throws is returned.
  Status operator()(void* inout, const void* in, int64_t count, DType) const;

 private:
  std::function<Status(void*, const void*, int64_t, DType)> apply_;
};

// What a single call may set; each collective uses what concerns it.
struct CallOptions {
  ReduceOp op = ReduceOp::kSum;
  UserReduce user;                  // with op = kUser
  int root = 0;                     // broadcast, reduce, gather, scatter
  std::string_view algorithm = {};  // empty: the communicator's choice
  Duration timeout = {};  // no progress for so long: 0 is the communicator's
};

struct RONDO_API CommunicatorOptions {
  // Time-outs in seconds: to find and connect all ranks; without any progress
  // within an operation; for a whole operation (0: none).
  double connect_timeout = 120;
  double timeout = 300;
  double total_timeout = 0;
  std::string transport = "auto";  // auto, inproc, shm, tcp
  std::string algorithm = "auto";  // for allreduce: auto or a name
  std::string interface = {};      // see InterfaceFilter
  std::string port_range = {};     // "5000-5100"
  std::string token = {};          // the job's secret
  int tcp_streams = 0;             // sockets per peer and way; 0: default
  bool remote_memory = true;       // process_vm_readv/writev where permitted
  std::string tuning_file = {};    // what `rondo tune` wrote; rank 0's counts
  std::string name = "world";      // for messages

  // RONDO_TIMEOUT, RONDO_CONNECT_TIMEOUT, RONDO_TRANSPORT, RONDO_ALGORITHM,
  // RONDO_INTERFACE, RONDO_PORT_RANGE, RONDO_TOKEN, ...: docs/environment.md.
  static Result<CommunicatorOptions> from_env(const Env& env);
};

// Where `rondo tune` writes unless told otherwise, and from_env() looks:
// $XDG_CONFIG_HOME/rondo/tuning or ~/.config/rondo/tuning. Empty without a
// home.
RONDO_API std::string default_tuning_file(const Env& env);

// An operation under way. Copies refer to the same one.
class [[nodiscard]] RONDO_API Work {
 public:
  Work() = default;
  // Until it is over; an Interrupt cancels it. With a time-out, until then
  // (kTimeout, and the operation goes on).
  Status wait();
  Status wait(Duration timeout);
  // Whether it is over.
  bool test() const;
  // How it ended; ok while it is under way.
  Status error() const;
  // Gives the operation up, and with it the communicator, on every rank.
  void cancel();

 private:
  friend class Communicator;
  friend class CommunicatorImpl;
  explicit Work(std::shared_ptr<OpState> op) : op_(std::move(op)) {}
  std::shared_ptr<OpState> op_;
};

// One message of a batch: see Communicator::batch.
struct Transfer {
  enum Kind { kSend, kRecv } kind = kSend;
  int peer = 0;
  void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::kF32;

  static Transfer send(ConstView from, int peer) {
    return {kSend, peer, const_cast<void*>(from.data), from.count, from.dtype};
  }
  static Transfer recv(View into, int peer) {
    return {kRecv, peer, into.data, into.count, into.dtype};
  }
};

// What travelled so far, from this rank's point of view; payload only.
struct Traffic {
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  uint64_t messages_sent = 0;
};

class RONDO_API Communicator {
 public:
  // The communicator of all ranks of this job (see JobEnv).
  static Result<Communicator> world();
  static Result<Communicator> world(CommunicatorOptions options);
  // Rank `rank` of `size` that find each other through `store`.
  static Result<Communicator> connect(std::shared_ptr<Store> store, int rank,
                                      int size,
                                      CommunicatorOptions options = {});

  Communicator() = default;
  // -1 and 0 of an empty communicator.
  int rank() const;
  int size() const;
  const std::string& name() const;

  // In place: every rank's x becomes the reduction of all.
  Status allreduce(View x, const CallOptions& options = {});
  // Out of place; `in` is left as it was.
  Status allreduce(ConstView in, View out, const CallOptions& options = {});
  // One operation over several tensors, fused.
  Status allreduce(std::span<const View> xs, const CallOptions& options = {});
  // The reduction lands in root's `out` (in place when out.data == in.data);
  // elsewhere `out` is ignored.
  Status reduce(ConstView in, View out, const CallOptions& options = {});
  Status broadcast(View x, const CallOptions& options = {});
  // out has size() * in.count elements.
  Status allgather(ConstView in, View out, const CallOptions& options = {});
  // out has sum(counts) elements, rank r's counts[r] of them; in.count is
  // counts[rank()].
  Status allgatherv(ConstView in, View out, std::span<const int64_t> counts,
                    const CallOptions& options = {});
  // in has size() * out.count elements.
  Status reduce_scatter(ConstView in, View out,
                        const CallOptions& options = {});
  // root's out has size() * in.count elements; elsewhere `out` is ignored.
  Status gather(ConstView in, View out, const CallOptions& options = {});
  // root's in has size() * out.count elements; elsewhere `in` is ignored.
  Status scatter(ConstView in, View out, const CallOptions& options = {});
  // in and out have size() equal blocks.
  Status all_to_all(ConstView in, View out, const CallOptions& options = {});
  Status all_to_allv(ConstView in, std::span<const int64_t> send_counts,
                     View out, std::span<const int64_t> recv_counts,
                     const CallOptions& options = {});
  Status barrier(const CallOptions& options = {});
  Status send(ConstView from, int peer, const CallOptions& options = {});
  Status recv(View into, int peer, const CallOptions& options = {});
  // Both at once.
  Status sendrecv(ConstView from, int to_peer, View into, int from_peer,
                  const CallOptions& options = {});
  // All of these at once, in any order.
  Status batch(std::span<const Transfer> transfers,
               const CallOptions& options = {});

  // The same, returning at once. The memory must stay until the work is over.
  Work allreduce_async(View x, const CallOptions& options = {});
  Work allreduce_async(ConstView in, View out, const CallOptions& options = {});
  Work allreduce_async(std::span<const View> xs,
                       const CallOptions& options = {});
  Work reduce_async(ConstView in, View out, const CallOptions& options = {});
  Work broadcast_async(View x, const CallOptions& options = {});
  Work allgather_async(ConstView in, View out, const CallOptions& options = {});
  Work allgatherv_async(ConstView in, View out, std::span<const int64_t> counts,
                        const CallOptions& options = {});
  Work reduce_scatter_async(ConstView in, View out,
                            const CallOptions& options = {});
  Work gather_async(ConstView in, View out, const CallOptions& options = {});
  Work scatter_async(ConstView in, View out, const CallOptions& options = {});
  Work all_to_all_async(ConstView in, View out,
                        const CallOptions& options = {});
  Work all_to_allv_async(ConstView in, std::span<const int64_t> send_counts,
                         View out, std::span<const int64_t> recv_counts,
                         const CallOptions& options = {});
  Work barrier_async(const CallOptions& options = {});
  Work batch_async(std::span<const Transfer> transfers,
                   const CallOptions& options = {});
  Work send_async(ConstView from, int peer, const CallOptions& options = {});
  Work recv_async(View into, int peer, const CallOptions& options = {});

  // The ranks that gave the same color (>= 0), ordered by (key, rank); an empty
  // communicator (valid() false) for color < 0. Collective.
  Result<Communicator> split(int color, int key = 0);
  bool valid() const { return impl_ != nullptr; }

  // "shm", "tcp", "inproc" or "self": how this rank reaches `peer`.
  std::string_view transport_to(int peer) const;
  // The algorithm that an allreduce of so many bytes would use.
  std::string_view algorithm_for(int64_t count, DType dtype) const;
  Traffic traffic() const;
  // Ends the communicator on every rank; every call from now on returns why.
  void abort(const std::string& reason);

 private:
  friend class CommunicatorImpl;
  friend class Mailbox;
  explicit Communicator(std::shared_ptr<CommunicatorImpl> impl)
      : impl_(std::move(impl)) {}
  static Work finished(Status status);
  std::shared_ptr<CommunicatorImpl> impl_;
};

}  // namespace rondo
