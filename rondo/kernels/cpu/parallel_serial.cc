// parallel.h without threads. The preset "tsan" keeps oneDNN to one as well.
#include "rondo/kernels/cpu/parallel.h"

namespace rondo {

void set_intra_op_threads(int) {}
int intra_op_threads() { return 1; }

void parallel_for(int64_t count, int64_t,
                  FunctionRef<void(int64_t, int64_t)> body) {
  if (count > 0) body(0, count);
}

}  // namespace rondo
