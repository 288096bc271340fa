// Graphs as bytes and as files.
//
// The bytes are a GraphDef of TensorFlow's (graph.proto), so that TensorBoard
// shows them. A file is one too, with the elements of large constants behind
// the graph, which makes files of any size possible, and a checksum.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rondo/graph/graph.h"

namespace rondo {

struct GraphDefOptions {
  // Constants with more bytes than this are left out: for graphs that are
  // looked at, not run.
  size_t constants_up_to = SIZE_MAX;
};

// Throws when it would be larger than protobuf allows (2 GB).
RONDO_API std::string to_graph_def(const Graph& graph,
                                   const GraphDefOptions& options = {});
// Operations must be known to this process. Throws when the bytes are no graph,
// or one that does not make sense.
RONDO_API std::unique_ptr<Graph> from_graph_def(std::string_view bytes);

// Throws when it cannot be written; what was there before then stays.
RONDO_API void save_graph(const Graph& graph, const std::string& path);
// Throws when the file cannot be read, is damaged or not whole.
RONDO_API std::unique_ptr<Graph> load_graph(const std::string& path);

struct ImportOptions {
  // All names begin with "scope/", those of variables, queues and the like
  // included; empty: they stay as they are.
  std::string scope = {};
};

// As from_graph_def and load_graph, but adds the nodes and collections to a
// graph, outside of its scopes. Throws, and adds nothing, when one of the names
// is that of a node or scope of the graph.
RONDO_API void import_graph_def(Graph& graph, std::string_view bytes,
                                const ImportOptions& options = {});
RONDO_API void import_graph(Graph& graph, const std::string& path,
                            const ImportOptions& options = {});

}  // namespace rondo
