#include "rondo/base/cores.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <thread>

namespace rondo {
namespace {

constexpr int64_t kMost = 1 << 16;
constexpr std::array<const char*, 4> kRanksOnHost = {
    "RONDO_LOCAL_SIZE", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS"};

}  // namespace

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int threads_wanting_cores() {
  // "0.20 0.18 0.12 1/80 11206": the fourth begins with them.
  std::ifstream file("/proc/loadavg");
  std::string load;
  int threads = 0;
  file >> load >> load >> load >> threads;
  return file ? threads : 0;
}

Result<int> share_of_cores(const Env& env, int available, int all) {
  RONDO_ASSIGN_OR_RETURN(const int64_t told,
                         env.get_int("RONDO_NUM_THREADS", 0, 1, kMost));
  if (told > 0) return static_cast<int>(told);
  if (available < all) return available;
  for (const char* name : kRanksOnHost) {
    if (!env.has(name)) continue;
    RONDO_ASSIGN_OR_RETURN(const int64_t ranks, env.get_int(name, 1, 1, kMost));
    return std::max(1, static_cast<int>(available / ranks));
  }
  return available;
}

int share_of_cores() {
  const int available = available_cores();
  const int all =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto share = share_of_cores(Env::process(), available, all);
  return share.ok() ? *share : available;
}

}  // namespace rondo
