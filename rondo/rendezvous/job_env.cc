#include "rondo/rendezvous/job_env.h"

#include <unistd.h>

#include <charconv>

#include "rondo/rendezvous/slurm_nodes.h"
#include "rondo/rendezvous/store_url.h"

namespace rondo {
namespace {

constexpr int64_t kMostRanks = 1 << 20;

// The names under which a launcher gives the numbers; a null name is not given.
struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

Status need(const Env& env, const char* name, const char* because) {
  if (env.has(name)) return {};
  return error(
      Code::kInvalidArgument,
      "{} is not set but {} is: set both, or none of them for a job of "
      "one rank",
      name, because);
}

Result<int64_t> below(const Env& env, const char* name, int64_t limit,
                      const char* limit_name) {
  auto value = env.get_int(name, 0, 0, limit - 1);
  if (value.ok()) return value;
  return error(Code::kInvalidArgument, "{} ({}={})", value.status().message(),
               limit_name, limit);
}

Status read_numbers(const Env& env, const Names& names, JobEnv& job) {
  RONDO_RETURN_IF_ERROR(need(env, names.rank, names.size));
  RONDO_RETURN_IF_ERROR(need(env, names.size, names.rank));
  RONDO_ASSIGN_OR_RETURN(const int64_t size,
                         env.get_int(names.size, 1, 1, kMostRanks));
  RONDO_ASSIGN_OR_RETURN(const int64_t rank,
                         below(env, names.rank, size, names.size));
  int64_t local_size = 0;
  if (names.local_size != nullptr && env.has(names.local_size)) {
    RONDO_ASSIGN_OR_RETURN(local_size,
                           env.get_int(names.local_size, 0, 1, size));
  }
  RONDO_ASSIGN_OR_RETURN(
      const int64_t local_rank,
      local_size > 0
          ? below(env, names.local_rank, local_size, names.local_size)
          : below(env, names.local_rank, size, names.size));
  job.rank = static_cast<int>(rank);
  job.size = static_cast<int>(size);
  job.local_rank = static_cast<int>(local_rank);
  job.local_size = static_cast<int>(local_size);
  return {};
}

bool all_local(const JobEnv& job) { return job.local_size == job.size; }

Status no_store(const JobEnv& job, std::string_view why) {
  return error(Code::kInvalidArgument,
               "{}: set RONDO_STORE on every rank, to tcp://HOST:PORT (a host "
               "where rank 0 runs and a free port there; and RONDO_TOKEN, the "
               "same secret text on every rank) or to file:///FOLDER (a new "
               "folder that all hosts see); this is rank {} of {}",
               why, job.rank, job.size);
}

// The stores below are what a launcher's ranks use when RONDO_STORE is unset.

Result<std::string> rondo_store(const Env&, const JobEnv& job) {
  return no_store(job, "RONDO_RANK is set but RONDO_STORE is not");
}

// One above torchrun's own port, which torch.distributed serves. Without other
// hosts it is a loopback address, since that works without a token.
Result<std::string> torchrun_store(const Env& env, const JobEnv& job) {
  const auto host = env.get("MASTER_ADDR");
  if (!host || !env.has("MASTER_PORT"))
    return no_store(job, "RANK is set but MASTER_ADDR and MASTER_PORT are not");
  RONDO_ASSIGN_OR_RETURN(const int64_t port,
                         env.get_int("MASTER_PORT", 0, 1, 65535));
  return make_tcp_url(all_local(job) ? "127.0.0.1" : *host,
                      static_cast<int>(port == 65535 ? port - 1 : port + 1));
}

// The job's number comes back some day; with the port of its PMIx server it
// tells this run from one that was killed and left its folder behind.
Result<std::string> openmpi_store(const Env& env, const JobEnv& job) {
  const auto id = env.get(
      env.has("PMIX_NAMESPACE") ? "PMIX_NAMESPACE" : "OMPI_MCA_ess_base_jobid");
  if (!all_local(job) || !id)
    return no_store(job,
                    "ranks of Open MPI's mpirun on several hosts need to "
                    "be told where to meet");
  std::string name = fmt::format("rondo-{}-{}", ::getuid(), *id);
  const std::string uri = env.get_or("PMIX_SERVER_URI2", "");
  if (size_t colon = uri.rfind(':'); colon != std::string::npos)
    name.append("-").append(uri, colon + 1);
  for (char& c : name)
    if (c == '/') c = '_';
  return "file:///tmp/" + name;
}

Result<std::string> pmi_store(const Env& env, const JobEnv& job) {
  if (!env.has("PMI_FD"))
    return no_store(job, "PMI_RANK is set but PMI_FD is not");
  RONDO_ASSIGN_OR_RETURN(const int64_t fd,
                         env.get_int("PMI_FD", 0, 0, 1 << 20));
  return fmt::format("pmi:{}", fd);
}

// Rank 0 serves on the step's first node; job and step choose the port.
Result<std::string> slurm_store(const Env& env, const JobEnv& job) {
  const auto nodes =
      env.get(env.has("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST"
                                             : "SLURM_NODELIST");
  if (!nodes) return no_store(job, "SLURM_STEP_NODELIST is not set");
  RONDO_ASSIGN_OR_RETURN(const int64_t id,
                         env.get_int("SLURM_JOB_ID", 0, 0, INT32_MAX));
  RONDO_ASSIGN_OR_RETURN(const int64_t step,
                         env.get_int("SLURM_STEP_ID", 0, 0, UINT32_MAX));
  const bool one_node = nodes->find_first_of(",[") == std::string::npos;
  return make_tcp_url(one_node ? "127.0.0.1" : first_slurm_node(*nodes),
                      static_cast<int>(20000 + (id * 7 + step) % 20000));
}

struct Launcher {
  const char* name;
  bool (*recognised)(const Env&);
  Names names;
  Result<std::string> (*store)(const Env&, const JobEnv&);
};

// RANK alone is a name that anybody may use; with one of torchrun's others it
// is torchrun's. A batch script has SLURM_PROCID without being a task of a
// step.
const Launcher kLaunchers[] = {
    {"rondo",
     [](const Env& e) {
       return e.has("RONDO_RANK") || e.has("RONDO_WORLD_SIZE");
     },
     {"RONDO_RANK", "RONDO_WORLD_SIZE", "RONDO_LOCAL_RANK", "RONDO_LOCAL_SIZE"},
     rondo_store},
    {"torchrun",
     [](const Env& e) {
       return e.has("TORCHELASTIC_RUN_ID") ||
              (e.has("RANK") && (e.has("WORLD_SIZE") || e.has("MASTER_ADDR")));
     },
     {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
     torchrun_store},
    {"openmpi",
     [](const Env& e) { return e.has("OMPI_COMM_WORLD_RANK"); },
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
     openmpi_store},
    {"pmi",
     [](const Env& e) { return e.has("PMI_RANK"); },
     {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
     pmi_store},
    {"slurm",
     [](const Env& e) {
       return e.has("SLURM_PROCID") &&
              (e.has("SLURM_STEP_ID") || e.has("SLURM_STEP_NUM_TASKS"));
     },
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr},
     slurm_store},
};

}  // namespace

Result<JobEnv> JobEnv::from(const Env& env) {
  JobEnv job;
  job.token = env.get_or("RONDO_TOKEN", "");
  const auto given = env.get("RONDO_STORE");
  if (given) {
    if (auto url = StoreUrl::parse(*given); !url.ok())
      return url.status().with_context("RONDO_STORE");
    job.store = *given;
  }
  for (const Launcher& launcher : kLaunchers) {
    if (!launcher.recognised(env)) continue;
    job.launcher = launcher.name;
    Names names = launcher.names;
    if (job.launcher == "slurm" && !env.has(names.size))
      names.size = "SLURM_NTASKS";
    RONDO_RETURN_IF_ERROR(read_numbers(env, names, job));
    if (job.size > 1 && !given) {
      RONDO_ASSIGN_OR_RETURN(job.store, launcher.store(env, job));
    }
    break;
  }
  if (job.size > 1 && job.store == "memory")
    return error(
        Code::kInvalidArgument,
        "RONDO_STORE=memory is within one process, and this job has {} "
        "ranks",
        job.size);
  if (job.store.empty()) job.store = "memory";
  return job;
}

}  // namespace rondo
