// The operations, each at once and under way.
#include <utility>
#include <vector>

#include "rondo/capi/handle.h"

using rondo::CallOptions;
using rondo::Communicator;
using rondo::ConstView;
using rondo::DType;
using rondo::Status;
using rondo::Transfer;
using rondo::View;
using rondo::Work;
using rondo::capi::guard;
using rondo::capi::null_argument;

namespace {

using Counts = std::span<const int64_t>;

// What every operation is given, checked and converted.
struct Given {
  Communicator comm;
  DType dtype = DType::kU8;
  CallOptions options;

  ConstView in(const void* p, int64_t n) const { return {p, n, dtype}; }
  View out(void* p, int64_t n) const { return {p, n, dtype}; }
  // `count` from or for each rank; negative, hence refused, when that
  // overflows.
  int64_t all(int64_t count) const {
    int64_t total = 0;
    return __builtin_mul_overflow(count, comm.size(), &total) ? -1 : total;
  }
  // One count per rank.
  Counts counts(const int64_t* p) const {
    return {p, static_cast<size_t>(comm.size())};
  }
};

int64_t sum(Counts counts) {
  int64_t total = 0;
  for (int64_t count : counts) total += count;
  return total;
}

rondo::Result<Given> take(const char* function, rondo_comm_t* comm,
                          rondo_dtype_t dtype,
                          const rondo_call_options_t* options) {
  if (comm == nullptr) return null_argument(function, "comm");
  Given given{comm->comm, {}, {}};
  RONDO_ASSIGN_OR_RETURN(given.dtype,
                         rondo::capi::dtype_of_number(function, dtype));
  RONDO_ASSIGN_OR_RETURN(given.options,
                         rondo::capi::call_options(function, options));
  return given;
}

// A call that cannot start is reported by the call itself.
Status hand_out(Work started, rondo_work_t** work) {
  if (started.test() && !started.error().ok()) return started.error();
  *work = new rondo_work{std::move(started)};
  return {};
}

std::vector<View> views(const Given& g, void* const* arrays,
                        const int64_t* counts, size_t array_count) {
  std::vector<View> all;
  for (size_t i = 0; i < array_count; ++i)
    all.push_back(g.out(arrays[i], counts[i]));
  return all;
}

}  // namespace

// Defines rondo_NAME and rondo_NAME_async. PARAMETERS stand between the
// communicator and the options, CHECK is a condition with the name of what is
// missing otherwise, and ARGUMENTS are those of Communicator::CALL, given `g`.
#define RONDO_UNPACK(...) __VA_ARGS__
#define RONDO_OPERATION(NAME, CALL, PARAMETERS, DTYPE, CHECK, MISSING,    \
                        ARGUMENTS)                                        \
  rondo_status_t rondo_##NAME(rondo_comm_t* comm RONDO_UNPACK PARAMETERS, \
                              const rondo_call_options_t* options) {      \
    return guard([&]() -> Status {                                        \
      RONDO_ASSIGN_OR_RETURN(auto g,                                      \
                             take("rondo_" #NAME, comm, DTYPE, options)); \
      if (!(CHECK)) return null_argument("rondo_" #NAME, MISSING);        \
      return g.comm.CALL(RONDO_UNPACK ARGUMENTS);                         \
    });                                                                   \
  }                                                                       \
  rondo_status_t rondo_##NAME##_async(                                    \
      rondo_comm_t* comm RONDO_UNPACK PARAMETERS,                         \
      const rondo_call_options_t* options, rondo_work_t** work) {         \
    return guard([&]() -> Status {                                        \
      constexpr const char* kName = "rondo_" #NAME "_async";              \
      if (work == nullptr) return null_argument(kName, "work");           \
      *work = nullptr;                                                    \
      RONDO_ASSIGN_OR_RETURN(auto g, take(kName, comm, DTYPE, options));  \
      if (!(CHECK)) return null_argument(kName, MISSING);                 \
      return hand_out(g.comm.CALL##_async(RONDO_UNPACK ARGUMENTS), work); \
    });                                                                   \
  }

// Most operations take an input, an output and one count.
#define RONDO_IN_OUT(NAME, ARGUMENTS)                                    \
  RONDO_OPERATION(                                                       \
      NAME, NAME,                                                        \
      (, const void* in, void* out, int64_t count, rondo_dtype_t dtype), \
      dtype, true, "", ARGUMENTS)

RONDO_IN_OUT(allreduce, (g.in(in, count), g.out(out, count), g.options))
RONDO_IN_OUT(reduce, (g.in(in, count), g.out(out, count), g.options))
RONDO_IN_OUT(allgather, (g.in(in, count), g.out(out, g.all(count)), g.options))
RONDO_IN_OUT(reduce_scatter,
             (g.in(in, g.all(count)), g.out(out, count), g.options))
RONDO_IN_OUT(gather, (g.in(in, count), g.out(out, g.all(count)), g.options))
RONDO_IN_OUT(scatter, (g.in(in, g.all(count)), g.out(out, count), g.options))
RONDO_IN_OUT(all_to_all,
             (g.in(in, g.all(count)), g.out(out, g.all(count)), g.options))

RONDO_OPERATION(broadcast, broadcast,
                (, void* data, int64_t count, rondo_dtype_t dtype), dtype, true,
                "", (g.out(data, count), g.options))
RONDO_OPERATION(allreduce_many, allreduce,
                (, void* const* arrays, const int64_t* counts,
                 size_t array_count, rondo_dtype_t dtype),
                dtype, array_count == 0 || (arrays && counts),
                "arrays or counts",
                (views(g, arrays, counts, array_count), g.options))
RONDO_OPERATION(allgatherv, allgatherv,
                (, const void* in, void* out, const int64_t* counts,
                 rondo_dtype_t dtype),
                dtype, counts, "counts",
                (g.in(in, counts[g.comm.rank()]),
                 g.out(out, sum(g.counts(counts))), g.counts(counts),
                 g.options))
RONDO_OPERATION(all_to_allv, all_to_allv,
                (, const void* in, const int64_t* send_counts, void* out,
                 const int64_t* recv_counts, rondo_dtype_t dtype),
                dtype, send_counts&& recv_counts, "send_counts or recv_counts",
                (g.in(in, sum(g.counts(send_counts))), g.counts(send_counts),
                 g.out(out, sum(g.counts(recv_counts))), g.counts(recv_counts),
                 g.options))
RONDO_OPERATION(barrier, barrier, (), RONDO_U8, true, "", (g.options))
RONDO_OPERATION(send, send,
                (, const void* data, int64_t count, rondo_dtype_t dtype,
                 int32_t peer),
                dtype, true, "", (g.in(data, count), peer, g.options))
RONDO_OPERATION(recv, recv,
                (, void* data, int64_t count, rondo_dtype_t dtype,
                 int32_t peer),
                dtype, true, "", (g.out(data, count), peer, g.options))
RONDO_OPERATION(
    sendrecv, batch,
    (, const void* from, int64_t from_count, int32_t to_peer, void* into,
     int64_t into_count, int32_t from_peer, rondo_dtype_t dtype),
    dtype, true, "",
    (std::vector{Transfer::send(g.in(from, from_count), to_peer),
                 Transfer::recv(g.out(into, into_count), from_peer)},
     g.options))
