// What `rondo run` was started in: a rank of somebody else's job, a Slurm
// allocation, or nothing of the kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/env.h"
#include "rondo/launch/hosts.h"

namespace rondo {

enum class OuterJob {
  kNone,
  // Under mpirun or srun, which start one `rondo run` per rank: the program
  // takes that rank, and JobEnv in it recognises the starter's variables.
  kRank,
  // In a Slurm allocation (salloc, sbatch) and not in a step of it: srun
  // reaches its nodes.
  kSlurmAllocation,
};

OuterJob detect_outer_job(const Env& env);

// The nodes of the allocation with their tasks per node.
Result<std::vector<Host>> slurm_hosts(const Env& env);

// "node[01-03,7],login" as Slurm writes lists of nodes, spelled out.
Result<std::vector<std::string>> expand_nodelist(std::string_view text);
// "4(x2),3" as Slurm writes counts per node: 4, 4, 3.
Result<std::vector<int>> expand_counts(std::string_view text);

}  // namespace rondo
