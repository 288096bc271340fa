// Parallel loops of CPU kernels.
//
// They run on OpenMP's threads because oneDNN's do: two pools of threads would
// get in each other's way.
#pragma once

#include <cstdint>

#include "rondo/base/export.h"
#include "rondo/base/function_ref.h"

namespace rondo {

// How many threads parallel loops that this thread starts may use, this thread
// included; also for what oneDNN does on its behalf.
RONDO_API void set_intra_op_threads(int threads);
RONDO_API int intra_op_threads();

// Calls body(begin, end) for ranges that together are [0, count), each but the
// last a multiple of `grain` long, on several threads when there are at least
// two such. The division depends on count, grain and the number of threads
// alone.
RONDO_API void parallel_for(int64_t count, int64_t grain,
                            FunctionRef<void(int64_t, int64_t)> body);

}  // namespace rondo
