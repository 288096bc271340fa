// not_finite_origin: where the NaN or infinity of a value comes from.
#pragma once

#include <vector>

#include "rondo/runtime/session.h"

namespace rondo {

// The node by which `value` is NaN or infinity, with the session's variables as
// they are: it gives such numbers and takes none. The first in the order of the
// graph, where there are several; nullptr: the value is finite. Computes all
// that the value needs again, and keeps it.
Result<const Node*> not_finite_origin(Session& session, Value value,
                                      const std::vector<Feed>& feeds);

}  // namespace rondo
