#include "rondo/graph/graph_io.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "graph.h"
#include "program_call.h"
#include "rondo/graph/dot.h"

namespace rondo::python {
namespace {

nb::bytes python_to_graph_def(const PyGraph& graph,
                              std::optional<size_t> constants_up_to) {
  const std::string bytes =
      to_graph_def(*graph.graph, {constants_up_to.value_or(SIZE_MAX)});
  return nb::bytes(bytes.data(), bytes.size());
}

PyGraph python_from_graph_def(const nb::bytes& bytes) {
  return {from_graph_def({bytes.c_str(), bytes.size()}), {}};
}

PyGraph python_load_graph(const std::string& path) {
  const GilRelease others_run;
  return {load_graph(path), {}};
}

}  // namespace

void bind_graph_io(nb::module_& m) {
  m.def("to_graph_def", &python_to_graph_def, nb::arg("graph"),
        nb::arg("constants_up_to") = nb::none(),
        "The bytes of a GraphDef; without the elements of constants that have "
        "more bytes than this.");
  m.def("from_graph_def", &python_from_graph_def, nb::arg("graph_def"),
        "A graph from the bytes of a GraphDef.");
  m.def(
      "save_graph",
      [](const PyGraph& graph, const std::string& path) {
        const GilRelease others_run;
        save_graph(*graph.graph, path);
      },
      nb::arg("graph"), nb::arg("path"), "Writes a graph to a file.");
  m.def("load_graph", &python_load_graph, nb::arg("path"),
        "A graph from a file that save_graph wrote.");
  m.def(
      "import_graph_def",
      [](PyGraph& graph, const nb::bytes& bytes, std::string scope) {
        import_graph_def(*graph.graph, {bytes.c_str(), bytes.size()},
                         {std::move(scope)});
      },
      nb::arg("graph"), nb::arg("graph_def"), nb::arg("scope") = "",
      "Adds the nodes of a GraphDef to a graph, within a scope.");
  m.def(
      "import_graph",
      [](PyGraph& graph, const std::string& path, std::string scope) {
        const GilRelease others_run;
        import_graph(*graph.graph, path, {std::move(scope)});
      },
      nb::arg("graph"), nb::arg("path"), nb::arg("scope") = "",
      "Adds the nodes of a file that save_graph wrote to a graph, within a "
      "scope.");
  m.def(
      "to_dot", [](const PyGraph& graph) { return to_dot(*graph.graph); },
      nb::arg("graph"), "A graph in Graphviz's language.");
}

}  // namespace rondo::python
