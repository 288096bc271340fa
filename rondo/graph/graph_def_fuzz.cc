// Graphs as clients send them: from bytes, and added to a graph.
#include <cstdlib>

#include "rondo/graph/graph_io.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/subgraph_io.h"

using namespace rondo;

namespace {

std::unique_ptr<Graph> read(std::string_view text) {
  try {
    return from_graph_def(text);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  if (const auto graph = read(text)) {
    // What was understood is understood again.
    const auto again = read(to_graph_def(*graph));
    if (!again || again->nodes().size() != graph->nodes().size()) std::abort();
  }
  Graph grows;
  placeholder(grows, {.name = "x"});
  try {
    extend_graph(grows, 1, text);
  } catch (const Error&) {
  }
  return 0;
}
