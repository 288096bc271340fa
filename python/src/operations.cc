// The operations, each blocking and as NAME_async.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array.h"
#include "bindings.h"
#include "communicator.h"
#include "interrupt.h"
#include "program_call.h"
#include "work.h"

// Communicator::NAME or NAME_async, within a template over kAsync.
#define RONDO_PICK(NAME, ...)                \
  [&](Communicator& c, CallOptions& o) {     \
    if constexpr (kAsync)                    \
      return c.NAME##_async(__VA_ARGS__, o); \
    else                                     \
      return c.NAME(__VA_ARGS__, o);         \
  }

namespace rondo::python {
namespace {

using Timeout = std::optional<double>;
using Counts = std::vector<int64_t>;

// One call in the making: converts its arguments, then runs it without the GIL.
template <bool kAsync>
class Call {
 public:
  Call(const PyCommunicator& self, const Timeout& timeout) : comm_(self.get()) {
    if (!timeout) return;
    if (!(*timeout > 0))
      check(error(Code::kInvalidArgument,
                  "timeout: {} is not a number of seconds greater than 0",
                  *timeout));
    options_.timeout = seconds(*timeout);
  }

  int size() const { return comm_.size(); }
  bool is_root() const { return comm_.rank() == options_.root; }
  void root(int root) { options_.root = root; }
  void algorithm(const std::string& name) { options_.algorithm = name; }
  ConstView in(nb::handle x, const char* what) {
    used_.push_back(nb::borrow(x));
    return const_view(x, what);
  }
  View out(nb::handle x, const char* what) {
    used_.push_back(nb::borrow(x));
    return writable_view(x, what);
  }
  // A name, or a callable for arrays like `x`.
  void op(nb::handle op, nb::handle x) {
    if (PyCallable_Check(op.ptr())) {
      used_.push_back(nb::borrow(op));
      used_.push_back(dtype_object(x));
      user_ = std::make_shared<UserOperator>(op, used_.back());
      options_.op = ReduceOp::kUser;
      options_.user = [user = user_](void* inout, const void* in, int64_t count,
                                     DType) {
        return user->apply(inout, in, count);
      };
      return;
    }
    std::string name;
    if (!nb::try_cast(op, name))
      throw nb::type_error("op: expected a name or a callable f(inout, in)");
    const auto known = reduce_op_from_name(name);
    if (!known || *known == ReduceOp::kUser)
      check(error(Code::kInvalidArgument,
                  "op: there is no \"{}\"; there are sum, avg, prod, min, max, "
                  "band, bor, bxor, and any callable f(inout, in)",
                  name));
    options_.op = *known;
  }

  // The result, or the Work that has it.
  template <class Start>
  nb::object run(nb::object result, Start start) {
    if constexpr (kAsync) {
      Work work;
      {
        const GilRelease release;
        work = start(comm_, options_);
        comm_ = Communicator();
      }
      return nb::cast(PyWork(std::move(work), std::move(result),
                             std::move(used_), std::move(user_)));
    } else {
      PyInterrupt::before();
      Status status;
      {
        const GilRelease release;
        status = start(comm_, options_);
        comm_ = Communicator();
      }
      PyInterrupt::after();
      if (user_) user_->rethrow();
      check(status);
      return result;
    }
  }

 private:
  Communicator comm_;
  CallOptions options_;
  std::vector<nb::object> used_;
  std::shared_ptr<UserOperator> user_;
};

template <bool kAsync>
nb::object allreduce(const PyCommunicator& self, nb::object x, nb::object op,
                     nb::object out, const std::string& algorithm,
                     Timeout timeout) {
  Call<kAsync> call(self, timeout);
  call.algorithm(algorithm);
  if (PyList_Check(x.ptr()) || PyTuple_Check(x.ptr())) {
    if (!out.is_none())
      throw nb::type_error("out: several arrays are reduced in place");
    std::vector<View> views;
    for (nb::handle one : x) views.push_back(call.out(one, "x"));
    if (!views.empty()) call.op(op, nb::object(x[0]));
    return call.run(x, RONDO_PICK(allreduce, std::span<const View>(views)));
  }
  if (out.is_none()) {
    const View view = call.out(x, "x");
    call.op(op, x);
    return call.run(x, RONDO_PICK(allreduce, view));
  }
  const ConstView from = call.in(x, "x");
  const View into = call.out(out, "out");
  call.op(op, x);
  return call.run(out, RONDO_PICK(allreduce, from, into));
}

template <bool kAsync>
nb::object reduce(const PyCommunicator& self, nb::object x, nb::object op,
                  int root, nb::object out, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  call.root(root);
  if (out.is_none()) out = x;
  const ConstView from = call.in(x, "x");
  View into;
  if (call.is_root()) into = call.out(out, "out");
  call.op(op, x);
  nb::object result = call.is_root() ? out : nb::none();
  return call.run(result, RONDO_PICK(reduce, from, into));
}

template <bool kAsync>
nb::object broadcast(const PyCommunicator& self, nb::object x, int root,
                     Timeout timeout) {
  Call<kAsync> call(self, timeout);
  call.root(root);
  const View view = call.out(x, "x");
  return call.run(x, RONDO_PICK(broadcast, view));
}

template <bool kAsync>
nb::object allgather(const PyCommunicator& self, nb::object x, nb::object out,
                     Timeout timeout) {
  Call<kAsync> call(self, timeout);
  const ConstView from = call.in(x, "x");
  if (out.is_none()) out = empty_like(x, call.size());
  const View into = call.out(out, "out");
  return call.run(out, RONDO_PICK(allgather, from, into));
}

template <bool kAsync>
nb::object allgatherv(const PyCommunicator& self, nb::object x, nb::object out,
                      const Counts& counts, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  const ConstView from = call.in(x, "x");
  const View into = call.out(out, "out");
  return call.run(out, RONDO_PICK(allgatherv, from, into, counts));
}

template <bool kAsync>
nb::object reduce_scatter(const PyCommunicator& self, nb::object x,
                          nb::object out, nb::object op, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  const ConstView from = call.in(x, "x");
  const View into = call.out(out, "out");
  call.op(op, x);
  return call.run(out, RONDO_PICK(reduce_scatter, from, into));
}

template <bool kAsync>
nb::object gather(const PyCommunicator& self, nb::object x, nb::object out,
                  int root, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  call.root(root);
  const ConstView from = call.in(x, "x");
  View into;
  nb::object result = nb::none();
  if (call.is_root()) {
    result = out.is_none() ? empty_like(x, call.size()) : out;
    into = call.out(result, "out");
  }
  return call.run(result, RONDO_PICK(gather, from, into));
}

template <bool kAsync>
nb::object scatter(const PyCommunicator& self, nb::object x, nb::object out,
                   int root, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  call.root(root);
  ConstView from;
  if (call.is_root()) from = call.in(x, "x");
  const View into = call.out(out, "out");
  return call.run(out, RONDO_PICK(scatter, from, into));
}

template <bool kAsync>
nb::object all_to_all(const PyCommunicator& self, nb::object x, nb::object out,
                      Timeout timeout) {
  Call<kAsync> call(self, timeout);
  const ConstView from = call.in(x, "x");
  if (out.is_none()) out = empty_like(x, 0);
  const View into = call.out(out, "out");
  return call.run(out, RONDO_PICK(all_to_all, from, into));
}

template <bool kAsync>
nb::object all_to_allv(const PyCommunicator& self, nb::object x,
                       const Counts& send_counts, nb::object out,
                       const Counts& recv_counts, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  const ConstView from = call.in(x, "x");
  const View into = call.out(out, "out");
  return call.run(
      out, RONDO_PICK(all_to_allv, from, send_counts, into, recv_counts));
}

template <bool kAsync>
nb::object barrier(const PyCommunicator& self, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  return call.run(nb::none(), [](Communicator& c, CallOptions& o) {
    if constexpr (kAsync)
      return c.barrier_async(o);
    else
      return c.barrier(o);
  });
}

template <bool kAsync>
nb::object send(const PyCommunicator& self, nb::object x, int peer,
                Timeout timeout) {
  Call<kAsync> call(self, timeout);
  const ConstView from = call.in(x, "x");
  return call.run(nb::none(), RONDO_PICK(send, from, peer));
}

template <bool kAsync>
nb::object recv(const PyCommunicator& self, nb::object x, int peer,
                Timeout timeout) {
  Call<kAsync> call(self, timeout);
  const View into = call.out(x, "x");
  return call.run(x, RONDO_PICK(recv, into, peer));
}

template <bool kAsync>
nb::object sendrecv(const PyCommunicator& self, nb::object x, int to_peer,
                    nb::object out, int from_peer, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  const Transfer both[] = {Transfer::send(call.in(x, "x"), to_peer),
                           Transfer::recv(call.out(out, "out"), from_peer)};
  return call.run(out, RONDO_PICK(batch, std::span<const Transfer>(both)));
}

// Each a pair (array, peer).
using Messages = std::vector<nb::tuple>;

template <bool kAsync>
nb::object batch(const PyCommunicator& self, const Messages& sends,
                 const Messages& recvs, Timeout timeout) {
  Call<kAsync> call(self, timeout);
  auto peer_of = [](const nb::tuple& message) {
    if (message.size() != 2)
      throw nb::type_error("batch: a message is a pair (array, peer)");
    return nb::cast<int>(message[1]);
  };
  std::vector<Transfer> all;
  for (const auto& message : sends) {
    const int peer = peer_of(message);
    all.push_back(Transfer::send(call.in(message[0], "sends"), peer));
  }
  for (const auto& message : recvs) {
    const int peer = peer_of(message);
    all.push_back(Transfer::recv(call.out(message[0], "recvs"), peer));
  }
  return call.run(nb::none(),
                  RONDO_PICK(batch, std::span<const Transfer>(all)));
}

// Defines the operation twice.
#define RONDO_BOTH(NAME, TEXT, ...)                        \
  c.def(#NAME, &NAME<false>, ##__VA_ARGS__, timeout, TEXT) \
      .def(#NAME "_async", &NAME<true>, ##__VA_ARGS__, timeout, kAsyncText)

constexpr const char* kAsyncText =
    "The same, returning a Work at once. The arrays belong to the operation "
    "until it is over.";

}  // namespace

void bind_operations(nb::class_<PyCommunicator>& c) {
  const auto timeout = nb::arg("timeout") = nb::none();
  const auto x = nb::arg("x");
  const auto out = nb::arg("out");
  const auto no_out = nb::arg("out") = nb::none();
  const auto root = nb::arg("root") = 0;
  const auto op = nb::arg("op") = "sum";

  RONDO_BOTH(allreduce,
             "Every rank's x becomes the reduction of all; with `out`, that "
             "does, and x stays. x may be a list of arrays.",
             x, op, no_out, nb::arg("algorithm") = "auto");
  RONDO_BOTH(reduce,
             "The reduction lands in the root's `out`, or x if there is none.",
             x, op, root, no_out);
  RONDO_BOTH(broadcast, "Every rank's x becomes the root's.", x, root);
  RONDO_BOTH(allgather,
             "Every rank's x, in the order of ranks. Without `out` a new array "
             "with one dimension more.",
             x, no_out);
  RONDO_BOTH(allgatherv, "As allgather, with counts[r] elements of rank r.", x,
             out, nb::arg("counts"));
  RONDO_BOTH(reduce_scatter,
             "`out` becomes this rank's part of the reduction of x.", x, out,
             op);
  RONDO_BOTH(gather, "Every rank's x, at the root. Elsewhere None.", x, no_out,
             root);
  RONDO_BOTH(scatter, "`out` becomes this rank's part of the root's x.",
             nb::arg("x").none(), out, root);
  RONDO_BOTH(all_to_all, "Block r of x goes to rank r; out has one of each.", x,
             no_out);
  RONDO_BOTH(all_to_allv, "As all_to_all, with blocks of different sizes.", x,
             nb::arg("send_counts"), out, nb::arg("recv_counts"));
  RONDO_BOTH(barrier, "Waits until every rank has come here.");
  RONDO_BOTH(send, "Sends x to `peer`.", x, nb::arg("peer"));
  RONDO_BOTH(recv, "Receives x from `peer`.", x, nb::arg("peer"));
  RONDO_BOTH(sendrecv, "Both at once.", x, nb::arg("to_peer"), out,
             nb::arg("from_peer"));
  RONDO_BOTH(batch, "All of these pairs (array, peer) at once.",
             nb::arg("sends"), nb::arg("recvs"));
}

}  // namespace rondo::python
