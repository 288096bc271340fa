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
struct RONDO_API JobEnv {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 0;  // 0: unknown
  std::string launcher = "none";  // "rondo", "torchrun", "openmpi", "pmi", "slurm"
  std::string store;   // "tcp://host:port", "file:///path", "pmi", "memory"
  std::string token;   // empty: none

  // Checks ranges and contradictions; an error names the variable, its text and
  // what would be right.
  static Result<JobEnv> from(const Env& env);
};

// Opens the store that `job` names. For tcp://, rank 0 serves it when nobody
// else does (the launcher does under `rondo run`); file and PMI stores hand out
// a token when the job has none, which is put into job.token.
RONDO_API Result<std::shared_ptr<Store>> open_store(JobEnv& job,
                                                    Deadline deadline);

}  // namespace rondo
