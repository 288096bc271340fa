// The times of a run's nodes as bytes in a tensor, as they travel back from a
// worker or a master: the last of the tensors of an answer to a traced call.
#pragma once

#include "rondo/base/status.h"
#include "rondo/runtime/timeline.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

// The call is over now.
Tensor timeline_to_tensor(const Timeline& timeline);
// Adds what another process saw of a call that began at `sent_us` and is over
// now, both of `timeline`. Its clock is another one: the way there and the way
// back are taken to be of the same length.
Status add_timeline(const Tensor& tensor, double sent_us, Timeline& timeline);

}  // namespace rondo
