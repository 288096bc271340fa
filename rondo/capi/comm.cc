// Communicators, stores and memory.
#include <utility>

#include "rondo/capi/handle.h"
#include "rondo/rendezvous/job_env.h"
#include "rondo/tensor/heap.h"

using rondo::Code;
using rondo::Communicator;
using rondo::Status;
using rondo::capi::guard;
using rondo::capi::null_argument;

namespace {

Status hand_out(rondo::Result<Communicator> made, rondo_comm_t** comm) {
  RONDO_RETURN_IF_ERROR(made.status());
  if (made->valid()) *comm = new rondo_comm{std::move(*made)};
  return {};
}

}  // namespace

void* rondo_alloc(size_t bytes) {
  void* memory = nullptr;
  (void)guard([&]() -> Status {
    memory = rondo::SharedHeap::process().allocate(bytes);
    if (memory != nullptr) return {};
    return rondo::error(Code::kResource, "rondo_alloc: no {} bytes left",
                        bytes);
  });
  return memory;
}

void rondo_free(void* memory) {
  (void)guard([&]() -> Status {
    rondo::SharedHeap::process().free(memory);
    return {};
  });
}

rondo_status_t rondo_world(const rondo_comm_options_t* options,
                           rondo_comm_t** comm) {
  return guard([&]() -> Status {
    if (comm == nullptr) return null_argument("rondo_world", "comm");
    *comm = nullptr;
    RONDO_ASSIGN_OR_RETURN(auto o,
                           rondo::capi::comm_options("rondo_world", options));
    return hand_out(Communicator::world(std::move(o)), comm);
  });
}

rondo_status_t rondo_store_open(const char* url, int32_t rank, int32_t size,
                                const char* token, double timeout,
                                rondo_store_t** store) {
  return guard([&]() -> Status {
    if (store == nullptr) return null_argument("rondo_store_open", "store");
    *store = nullptr;
    if (url == nullptr) return null_argument("rondo_store_open", "url");
    if (std::string_view(url) == "memory") {
      *store = new rondo_store{rondo::make_memory_store()};
      return {};
    }
    rondo::JobEnv job;
    job.rank = rank;
    job.size = size;
    job.store = url;
    if (token != nullptr) job.token = token;
    RONDO_ASSIGN_OR_RETURN(
        auto opened,
        rondo::open_store(job, rondo::Deadline(rondo::seconds(timeout))));
    *store = new rondo_store{std::move(opened)};
    return {};
  });
}

void rondo_store_free(rondo_store_t* store) {
  (void)guard([&]() -> Status {
    delete store;
    return {};
  });
}

rondo_status_t rondo_connect(rondo_store_t* store, int32_t rank, int32_t size,
                             const rondo_comm_options_t* options,
                             rondo_comm_t** comm) {
  return guard([&]() -> Status {
    if (comm == nullptr) return null_argument("rondo_connect", "comm");
    *comm = nullptr;
    if (store == nullptr) return null_argument("rondo_connect", "store");
    RONDO_ASSIGN_OR_RETURN(auto o,
                           rondo::capi::comm_options("rondo_connect", options));
    return hand_out(
        Communicator::connect(store->store, rank, size, std::move(o)), comm);
  });
}

rondo_status_t rondo_split(rondo_comm_t* comm, int32_t color, int32_t key,
                           rondo_comm_t** part) {
  return guard([&]() -> Status {
    if (part == nullptr) return null_argument("rondo_split", "part");
    *part = nullptr;
    if (comm == nullptr) return null_argument("rondo_split", "comm");
    return hand_out(comm->comm.split(color, key), part);
  });
}

rondo_status_t rondo_abort(rondo_comm_t* comm, const char* reason) {
  return guard([&]() -> Status {
    if (comm == nullptr) return null_argument("rondo_abort", "comm");
    comm->comm.abort(reason == nullptr ? "" : reason);
    return {};
  });
}

void rondo_comm_free(rondo_comm_t* comm) {
  (void)guard([&]() -> Status {
    delete comm;
    return {};
  });
}

int32_t rondo_rank(const rondo_comm_t* comm) {
  return comm == nullptr ? -1 : comm->comm.rank();
}

int32_t rondo_size(const rondo_comm_t* comm) {
  return comm == nullptr ? -1 : comm->comm.size();
}
