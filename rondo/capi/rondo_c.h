/* The C API of Rondo. Its ABI is stable: names, numbers and the members that
 * structs have now stay; structs grow at their end and say their size.
 *
 *   rondo_comm_t* comm;
 *   if (rondo_world(NULL, &comm) != RONDO_OK) return puts(rondo_last_error());
 *   rondo_allreduce(comm, x, x, 4, RONDO_F32, NULL);
 *   rondo_comm_free(comm);
 *
 * A function that can fail returns a rondo_status_t; rondo_last_error() then
 * has the reason in words. Handles are made by this library and freed by the
 * function named after them; freeing NULL is fine. Outputs are written on
 * success only, except handles, which are NULL after a failure. No C++
 * exception leaves a function.
 *
 * What is said of communicators, operations and memory in
 * rondo/collectives/communicator.h holds here: every rank of a communicator
 * makes the same calls in the same order, a failure is final, any thread may
 * call. */
#ifndef RONDO_CAPI_RONDO_C_H_
#define RONDO_CAPI_RONDO_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RONDO_C_API __attribute__((visibility("default")))
#else
#define RONDO_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t rondo_status_t;
enum {
  RONDO_OK = 0,
  RONDO_INVALID_ARGUMENT = 1, /* this call cannot work */
  RONDO_MISMATCH = 2,         /* ranks called different operations */
  RONDO_PEER_LOST = 3,        /* a rank died, left, or its connection broke */
  RONDO_TIMEOUT = 4,          /* a deadline passed */
  RONDO_CANCELLED = 5,        /* somebody cancelled the operation */
  RONDO_UNAVAILABLE = 6,      /* a service could not be reached */
  RONDO_PERMISSION = 7,       /* refused: wrong token, no rights */
  RONDO_RESOURCE = 8,         /* out of memory, descriptors, ports */
  RONDO_INTERNAL = 9,         /* a mistake of Rondo's own */
  RONDO_OUT_OF_RANGE = 10     /* there is no more */
};

typedef int32_t rondo_dtype_t;
enum {
  RONDO_F64 = 0,
  RONDO_F32 = 1,
  RONDO_F16 = 2,
  RONDO_BF16 = 3,
  RONDO_I64 = 4,
  RONDO_I32 = 5,
  RONDO_I16 = 6,
  RONDO_I8 = 7,
  RONDO_U8 = 8,
  RONDO_BOOL = 9
};

typedef int32_t rondo_op_t;
enum {
  RONDO_SUM = 0,
  RONDO_AVG = 1,
  RONDO_PROD = 2,
  RONDO_MIN = 3,
  RONDO_MAX = 4,
  RONDO_BAND = 5,
  RONDO_BOR = 6,
  RONDO_BXOR = 7,
  RONDO_USER = 8 /* rondo_call_options_t.reduce */
};

typedef struct rondo_comm rondo_comm_t;
typedef struct rondo_work rondo_work_t;
typedef struct rondo_store rondo_store_t;

/* inout[i] = inout[i] op in[i] for `count` elements: associative and
 * commutative. Called on the calling thread or on the communicator's; must not
 * throw, jump out, or call the communicator. Returns 0; anything else says that
 * it failed, which fails the operation and the communicator on every rank with
 * RONDO_CANCELLED and that number. */
typedef int (*rondo_reduce_fn)(void* inout, const void* in, int64_t count,
                               rondo_dtype_t dtype, void* context);

/* What a single call may set; NULL instead of it means all defaults. Begin with
 * RONDO_CALL_OPTIONS_INIT. */
typedef struct rondo_call_options {
  size_t struct_size;     /* sizeof(rondo_call_options_t) */
  rondo_op_t op;          /* sum */
  int32_t root;           /* 0; broadcast, reduce, gather, scatter */
  const char* algorithm;  /* of allreduce; NULL: the communicator's choice */
  double timeout;         /* seconds without progress; 0: the communicator's */
  rondo_reduce_fn reduce; /* with op = RONDO_USER */
  void* reduce_context;   /* what `reduce` is given */
} rondo_call_options_t;
#define RONDO_CALL_OPTIONS_INIT \
  { sizeof(rondo_call_options_t), RONDO_SUM, 0, NULL, 0, NULL, NULL }

/* For a communicator; NULL or 0 in a member means what the environment says
 * (docs/environment.md), or Rondo's default. */
typedef struct rondo_comm_options {
  size_t struct_size; /* sizeof(rondo_comm_options_t) */
  double connect_timeout;
  double timeout;
  double total_timeout;
  const char* transport;
  const char* algorithm;
  const char* interface;
  const char* port_range;
  const char* token;
  const char* tuning_file;
  const char* name;
  int32_t tcp_streams;
} rondo_comm_options_t;
#define RONDO_COMM_OPTIONS_INIT                                                \
  {                                                                            \
    sizeof(rondo_comm_options_t), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, 0                                                                \
  }

/* ---- Errors ------------------------------------------------------------- */

/* Why the last function that failed on this thread did; "" before that. Valid
 * until the next failure on this thread. */
RONDO_C_API const char* rondo_last_error(void);
/* "ok", "mismatch", "peer lost", ... */
RONDO_C_API const char* rondo_status_name(rondo_status_t status);
/* "0.1.0" */
RONDO_C_API const char* rondo_version(void);

/* ---- Memory that peers on the same host reduce in place -------------------
 */

/* 64-byte-aligned, contents unspecified; NULL when there is none left. Any
 * other memory works in every call, too. */
RONDO_C_API void* rondo_alloc(size_t bytes);
RONDO_C_API void rondo_free(void* memory);

/* ---- Communicators --------------------------------------------------------
 */

/* The communicator of all ranks of this job. */
RONDO_C_API rondo_status_t rondo_world(const rondo_comm_options_t* options,
                                       rondo_comm_t** comm);
/* "tcp://host:port" (rank 0 serves it when nobody else does), "file:///folder",
 * or "memory", for ranks that are threads and share the handle. `token` may be
 * NULL. Waits `timeout` seconds at most. */
RONDO_C_API rondo_status_t rondo_store_open(const char* url, int32_t rank,
                                            int32_t size, const char* token,
                                            double timeout,
                                            rondo_store_t** store);
RONDO_C_API void rondo_store_free(rondo_store_t* store);
/* Rank `rank` of `size` ranks that find each other through `store`, which may
 * be freed afterwards. */
RONDO_C_API rondo_status_t rondo_connect(rondo_store_t* store, int32_t rank,
                                         int32_t size,
                                         const rondo_comm_options_t* options,
                                         rondo_comm_t** comm);
/* The ranks that gave the same color, ordered by (key, rank). *part is NULL for
 * a negative color. Collective. */
RONDO_C_API rondo_status_t rondo_split(rondo_comm_t* comm, int32_t color,
                                       int32_t key, rondo_comm_t** part);
/* Ends the communicator on every rank; calls from now on return why. */
RONDO_C_API rondo_status_t rondo_abort(rondo_comm_t* comm, const char* reason);
/* Closes it once its last operation is over. No other thread may be in a call
 * with this handle. */
RONDO_C_API void rondo_comm_free(rondo_comm_t* comm);

/* -1 for NULL. */
RONDO_C_API int32_t rondo_rank(const rondo_comm_t* comm);
RONDO_C_API int32_t rondo_size(const rondo_comm_t* comm);

/* ---- Operations: at once ---------------------------------------------------
 * Counts are elements. `in` and `out` may be the same memory where that makes
 * sense: allreduce, reduce at its root. */

RONDO_C_API rondo_status_t rondo_allreduce(rondo_comm_t* comm, const void* in,
                                           void* out, int64_t count,
                                           rondo_dtype_t dtype,
                                           const rondo_call_options_t* options);
/* Several arrays in place, as one operation. */
RONDO_C_API rondo_status_t
rondo_allreduce_many(rondo_comm_t* comm, void* const* arrays,
                     const int64_t* counts, size_t array_count,
                     rondo_dtype_t dtype, const rondo_call_options_t* options);
/* `out` matters at options->root only. */
RONDO_C_API rondo_status_t rondo_reduce(rondo_comm_t* comm, const void* in,
                                        void* out, int64_t count,
                                        rondo_dtype_t dtype,
                                        const rondo_call_options_t* options);
RONDO_C_API rondo_status_t rondo_broadcast(rondo_comm_t* comm, void* data,
                                           int64_t count, rondo_dtype_t dtype,
                                           const rondo_call_options_t* options);
/* `count` elements of each rank; `out` has size times as many. */
RONDO_C_API rondo_status_t rondo_allgather(rondo_comm_t* comm, const void* in,
                                           void* out, int64_t count,
                                           rondo_dtype_t dtype,
                                           const rondo_call_options_t* options);
/* counts[r] elements of rank r, one after the other in `out`. */
RONDO_C_API rondo_status_t rondo_allgatherv(
    rondo_comm_t* comm, const void* in, void* out, const int64_t* counts,
    rondo_dtype_t dtype, const rondo_call_options_t* options);
/* `out` has `count` elements, `in` size times as many. */
RONDO_C_API rondo_status_t rondo_reduce_scatter(
    rondo_comm_t* comm, const void* in, void* out, int64_t count,
    rondo_dtype_t dtype, const rondo_call_options_t* options);
/* `count` elements of each rank; the root's `out` has size times as many. */
RONDO_C_API rondo_status_t rondo_gather(rondo_comm_t* comm, const void* in,
                                        void* out, int64_t count,
                                        rondo_dtype_t dtype,
                                        const rondo_call_options_t* options);
/* `count` elements to each rank; the root's `in` has size times as many. */
RONDO_C_API rondo_status_t rondo_scatter(rondo_comm_t* comm, const void* in,
                                         void* out, int64_t count,
                                         rondo_dtype_t dtype,
                                         const rondo_call_options_t* options);
/* `count` elements to each rank and from each rank. */
RONDO_C_API rondo_status_t
rondo_all_to_all(rondo_comm_t* comm, const void* in, void* out, int64_t count,
                 rondo_dtype_t dtype, const rondo_call_options_t* options);
/* One count per rank in both. */
RONDO_C_API rondo_status_t rondo_all_to_allv(
    rondo_comm_t* comm, const void* in, const int64_t* send_counts, void* out,
    const int64_t* recv_counts, rondo_dtype_t dtype,
    const rondo_call_options_t* options);
RONDO_C_API rondo_status_t rondo_barrier(rondo_comm_t* comm,
                                         const rondo_call_options_t* options);
RONDO_C_API rondo_status_t rondo_send(rondo_comm_t* comm, const void* data,
                                      int64_t count, rondo_dtype_t dtype,
                                      int32_t peer,
                                      const rondo_call_options_t* options);
RONDO_C_API rondo_status_t rondo_recv(rondo_comm_t* comm, void* data,
                                      int64_t count, rondo_dtype_t dtype,
                                      int32_t peer,
                                      const rondo_call_options_t* options);
/* Both at once. */
RONDO_C_API rondo_status_t rondo_sendrecv(rondo_comm_t* comm, const void* from,
                                          int64_t from_count, int32_t to_peer,
                                          void* into, int64_t into_count,
                                          int32_t from_peer,
                                          rondo_dtype_t dtype,
                                          const rondo_call_options_t* options);

/* ---- Operations: under way
 * --------------------------------------------------- As above, returning at
 * once. Arrays stay until the work is over; options and counts are copied. */

RONDO_C_API rondo_status_t
rondo_allreduce_async(rondo_comm_t* comm, const void* in, void* out,
                      int64_t count, rondo_dtype_t dtype,
                      const rondo_call_options_t* options, rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_allreduce_many_async(
    rondo_comm_t* comm, void* const* arrays, const int64_t* counts,
    size_t array_count, rondo_dtype_t dtype,
    const rondo_call_options_t* options, rondo_work_t** work);
RONDO_C_API rondo_status_t
rondo_reduce_async(rondo_comm_t* comm, const void* in, void* out, int64_t count,
                   rondo_dtype_t dtype, const rondo_call_options_t* options,
                   rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_broadcast_async(
    rondo_comm_t* comm, void* data, int64_t count, rondo_dtype_t dtype,
    const rondo_call_options_t* options, rondo_work_t** work);
RONDO_C_API rondo_status_t
rondo_allgather_async(rondo_comm_t* comm, const void* in, void* out,
                      int64_t count, rondo_dtype_t dtype,
                      const rondo_call_options_t* options, rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_allgatherv_async(
    rondo_comm_t* comm, const void* in, void* out, const int64_t* counts,
    rondo_dtype_t dtype, const rondo_call_options_t* options,
    rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_reduce_scatter_async(
    rondo_comm_t* comm, const void* in, void* out, int64_t count,
    rondo_dtype_t dtype, const rondo_call_options_t* options,
    rondo_work_t** work);
RONDO_C_API rondo_status_t
rondo_gather_async(rondo_comm_t* comm, const void* in, void* out, int64_t count,
                   rondo_dtype_t dtype, const rondo_call_options_t* options,
                   rondo_work_t** work);
RONDO_C_API rondo_status_t
rondo_scatter_async(rondo_comm_t* comm, const void* in, void* out,
                    int64_t count, rondo_dtype_t dtype,
                    const rondo_call_options_t* options, rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_all_to_all_async(
    rondo_comm_t* comm, const void* in, void* out, int64_t count,
    rondo_dtype_t dtype, const rondo_call_options_t* options,
    rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_all_to_allv_async(
    rondo_comm_t* comm, const void* in, const int64_t* send_counts, void* out,
    const int64_t* recv_counts, rondo_dtype_t dtype,
    const rondo_call_options_t* options, rondo_work_t** work);
RONDO_C_API rondo_status_t
rondo_barrier_async(rondo_comm_t* comm, const rondo_call_options_t* options,
                    rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_send_async(rondo_comm_t* comm,
                                            const void* data, int64_t count,
                                            rondo_dtype_t dtype, int32_t peer,
                                            const rondo_call_options_t* options,
                                            rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_recv_async(rondo_comm_t* comm, void* data,
                                            int64_t count, rondo_dtype_t dtype,
                                            int32_t peer,
                                            const rondo_call_options_t* options,
                                            rondo_work_t** work);
RONDO_C_API rondo_status_t rondo_sendrecv_async(
    rondo_comm_t* comm, const void* from, int64_t from_count, int32_t to_peer,
    void* into, int64_t into_count, int32_t from_peer, rondo_dtype_t dtype,
    const rondo_call_options_t* options, rondo_work_t** work);

/* Until the work is over, and how it ended; with timeout >= 0 seconds, until
 * then at most (RONDO_TIMEOUT, and the operation goes on). */
RONDO_C_API rondo_status_t rondo_work_wait(rondo_work_t* work, double timeout);
/* *done: whether it is over. Returns how it ended; RONDO_OK while under way. */
RONDO_C_API rondo_status_t rondo_work_test(rondo_work_t* work, int32_t* done);
/* Gives the operation up, and with it the communicator, on every rank. */
RONDO_C_API rondo_status_t rondo_work_cancel(rondo_work_t* work);
/* Frees the handle; the operation goes on. */
RONDO_C_API void rondo_work_free(rondo_work_t* work);

#ifdef __cplusplus
}
#endif

#endif
