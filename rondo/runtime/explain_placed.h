// A table of where the nodes of a step are, however they got there.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/subgraph.h"

namespace rondo {

// As explain() of rondo/graph/placement gives it. All nodes of the step have
// devices; `asked` are those that they asked for before, by node id; there need
// be none where there is one device.
Result<std::string> explain_placed(const Subgraph& step,
                                   const std::vector<std::string>& asked,
                                   const std::vector<std::string>& devices);

}  // namespace rondo
