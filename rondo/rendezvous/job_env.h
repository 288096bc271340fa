// JobEnv: who this process is in its job, whoever started it.
#pragma once

#include <memory>
#include <string>

#include "rondo/base/env.h"
#include "rondo/rendezvous/store.h"

namespace rondo {

// Recognised, in this order: Rondo's launcher or a person (RONDO_RANK,
// RONDO_WORLD_SIZE, RONDO_LOCAL_RANK, RONDO_STORE, RONDO_TOKEN), torchrun, Open
// MPI, MPICH/PMI, Slurm. None of them: a job of one rank.
//
// RONDO_STORE and RONDO_TOKEN count under every launcher. Where the ranks meet
// when RONDO_STORE is unset:
//   torchrun  rank 0 serves at MASTER_ADDR, port MASTER_PORT + 1
//   Open MPI  a folder in /tmp named after the job; ranks on several hosts need
//             RONDO_STORE
//   PMI       a folder in /tmp on one host; on several, rank 0 serves and tells
//             where through PMI, which is closed for this process from then on:
//             a program that uses MPI itself sets RONDO_STORE there
//   Slurm     rank 0 serves on the step's first node, at port
//             20000 + (7 * job + step) % 20000
// torchrun and Slurm on several hosts need RONDO_TOKEN.
struct RONDO_API JobEnv {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 0;  // 0: unknown
  std::string launcher =
      "none";         // "rondo", "torchrun", "openmpi", "pmi", "slurm"
  std::string store;  // "tcp://host:port", "file:///path", "pmi:FD", "memory"
  std::string token;  // empty: none

  // Checks ranges and contradictions; an error names the variable, its text and
  // what would be right.
  static Result<JobEnv> from(const Env& env);
};

// Opens the store that `job` names. For tcp://, rank 0 serves it when nobody
// else does (the launcher does under `rondo run`); file and PMI stores hand out
// a token when the job has none, which is put into job.token. A PMI store is a
// file or TCP store once open, and job.store says which.
//
// A store that rank 0 serves ends with rank 0's Store object, which waits up to
// 2 seconds for the others to close theirs. The files of a file store go when
// all ranks have closed it; each job needs a folder of its own, since what a
// killed job left behind would be taken for this one's.
RONDO_API Result<std::shared_ptr<Store>> open_store(JobEnv& job,
                                                    Deadline deadline);

}  // namespace rondo
