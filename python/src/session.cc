#include "session.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array.h"
#include "bindings.h"
#include "graph.h"
#include "interrupt.h"
#include "program_call.h"
#include "run_interrupt.h"

namespace rondo::python {
namespace {

// (tensors, trace): arrays in the order of the fetches, and the run's times as
// JSON where they were asked for.
nb::tuple run(PySession& self, const std::vector<PyValue>& fetches,
              const std::vector<std::pair<PyValue, nb::object>>& feed,
              const std::vector<PyNode>& targets, std::optional<double> timeout,
              bool trace) {
  std::vector<Value> values;
  values.reserve(fetches.size());
  for (const PyValue& fetch : fetches) values.push_back(fetch.value);
  std::vector<Node*> nodes;
  nodes.reserve(targets.size());
  for (const PyNode& target : targets) nodes.push_back(target.node);
  std::vector<Feed> feeds;
  feeds.reserve(feed.size());
  for (const auto& [value, array] : feed)
    feeds.push_back({value.value, to_tensor(array, "feed", false)});

  Timeline timeline;
  Cancellation cancellation;
  RunOptions options;
  if (timeout) options.timeout = seconds(std::max(0.0, *timeout));
  if (trace) options.timeline = &timeline;
  options.cancellation = &cancellation;
  Result<std::vector<Tensor>> result = std::vector<Tensor>();
  {
    const GilRelease release;
    const RunInterrupt interrupt(cancellation);
    // A wait that gave up by itself would leave the step behind.
    const NoInterrupt calm;
    result = self.session->run(values, feeds, nodes, options);
  }
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  check(result.status());
  nb::list arrays;
  for (Tensor& tensor : *result) arrays.append(to_array(std::move(tensor)));
  nb::object json = nb::none();
  if (trace) {
    const std::string text = timeline.to_json();
    json = nb::str(text.c_str(), text.size());
  }
  return nb::make_tuple(arrays, json);
}

std::string explain_placement(PySession& self,
                              const std::vector<PyValue>& fetches,
                              const std::vector<PyValue>& feeds,
                              const std::vector<PyNode>& targets) {
  std::vector<Value> values, fed;
  for (const PyValue& fetch : fetches) values.push_back(fetch.value);
  for (const PyValue& feed : feeds) fed.push_back(feed.value);
  std::vector<Node*> nodes;
  for (const PyNode& target : targets) nodes.push_back(target.node);
  Result<std::string> result = std::string();
  {
    const GilRelease release;
    result = self.session->explain_placement(values, fed, nodes);
  }
  check(result.status());
  return std::move(*result);
}

}  // namespace

PlacementKind placement_of(const std::string& name) {
  if (name == "constraints") return PlacementKind::kConstraints;
  if (name == "cost") return PlacementKind::kCost;
  throw Error(Code::kInvalidArgument,
              fmt::format("placement is \"{}\"; expected \"constraints\" or "
                          "\"cost\"",
                          name));
}

void bind_session(nb::module_& m) {
  nb::class_<PySession>(m, "Session", "Runs parts of a graph.")
      .def(
          "__init__",
          [](PySession* self, const PyGraph& graph, int inter_op_threads,
             int intra_op_threads, std::map<std::string, int> devices,
             bool allow_soft_placement, bool log_device_placement,
             const std::string& placement) {
            new (self) PySession(
                graph, {.inter_op_threads = inter_op_threads,
                        .intra_op_threads = intra_op_threads,
                        .devices = std::move(devices),
                        .placement = placement_of(placement),
                        .allow_soft_placement = allow_soft_placement,
                        .log_device_placement = log_device_placement});
          },
          nb::arg("graph"), nb::kw_only(), nb::arg("inter_op_threads") = 0,
          nb::arg("intra_op_threads") = 0, nb::arg("devices") = nb::dict(),
          nb::arg("allow_soft_placement") = false,
          nb::arg("log_device_placement") = false,
          nb::arg("placement") = "constraints")
      .def_prop_ro(
          "devices", [](PySession& self) { return self.session->devices(); },
          "Full names of the devices that nodes can ask for.")
      .def(
          "close",
          [](PySession& self) {
            const GilRelease release;
            self.session->close();
          },
          "Ends the runs that go on, and every later one at once.")
      .def("explain_placement", &explain_placement, nb::arg("fetches"),
           nb::arg("feeds") = nb::list(), nb::arg("targets") = nb::list(),
           "Where the nodes of such a run go, and why: a table.")
      .def("run", &run, nb::arg("fetches"), nb::arg("feeds") = nb::list(),
           nb::arg("targets") = nb::list(), nb::arg("timeout") = nb::none(),
           nb::arg("trace") = false,
           "(arrays of the fetches, JSON for chrome://tracing or None).");
}

}  // namespace rondo::python
