// The parts of a step as text, for tests, logs and people.
#pragma once

#include <string>
#include <vector>

#include "rondo/graph/partition/partition.h"

namespace rondo {

// For each part its device, then a line for each node in the order in which
// they can run, then what is fetched:
//
//   /cpu:0
//     feed/x = Placeholder() feed 0
//     a = Neg(feed/x)
//     a/send = Send(a) to /cpu:1
//   /cpu:1
//     a/recv = Recv() from /cpu:0
//     b = Add(a/recv, a/recv, ^c)
//     fetch 0: b
RONDO_API std::string to_text(const std::vector<GraphPart>& parts);

}  // namespace rondo
