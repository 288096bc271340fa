#include "rondo/kernels/cpu/parallel.h"

#include <omp.h>

#include <algorithm>

namespace rondo {

void set_intra_op_threads(int threads) {
  omp_set_num_threads(std::max(1, threads));
}

int intra_op_threads() { return omp_get_max_threads(); }

void parallel_for(int64_t count, int64_t grain,
                  FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  const int64_t pieces = (count + grain - 1) / grain;
  const int64_t threads = std::min<int64_t>(pieces, intra_op_threads());
  if (threads <= 1 || omp_in_parallel()) {
    body(0, count);
    return;
  }
  const int64_t share = (pieces + threads - 1) / threads * grain;
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    const int64_t begin = share * omp_get_thread_num();
    if (begin < count) body(begin, std::min(count, begin + share));
  }
}

}  // namespace rondo
