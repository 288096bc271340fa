#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.h"
#include "interrupt.h"
#include "program_call.h"
#include "rondo/cluster/server.h"
#include "session.h"

namespace rondo::python {
namespace {

struct PyServer {
  explicit PyServer(std::unique_ptr<Server> s) : server(std::move(s)) {}
  PyServer(PyServer&&) = default;
  ~PyServer() {
    const GilRelease release;  // a worker may be in a Python function
    server.reset();
  }
  std::unique_ptr<Server> server;
};

ClusterOptions common_options() {
  return ClusterOptions::from(Env::process()).value();
}

}  // namespace

void bind_cluster(nb::module_& m) {
  nb::class_<PyServer>(m, "Server", "One task of a cluster.")
      .def_prop_ro("target",
                   [](PyServer& self) { return self.server->target(); })
      .def(
          "join",
          [](PyServer& self) {
            waiting([&] { return self.server->join(), 0; });
          },
          "Waits until the server is stopped.")
      .def(
          "stop",
          [](PyServer& self) {
            const GilRelease release;
            self.server->stop();
          },
          "Ends all sessions and steps.");
  m.def(
      "start_server",
      [](const ClusterSpec::Jobs& jobs, const std::string& job, int task,
         int cpus, int inter_op_threads, int intra_op_threads) {
        const ClusterSpec cluster = ClusterSpec::from(jobs).value();
        ServerOptions options;
        options.common = common_options();
        options.cpus = std::max(1, cpus);
        options.inter_op_threads = inter_op_threads;
        options.intra_op_threads = intra_op_threads;
        auto server = waiting([&] {
          return Server::start(cluster, {job, task}, options);
        });
        check(server.status());
        return PyServer(std::move(*server));
      },
      nb::arg("jobs"), nb::arg("job"), nb::arg("task"), nb::kw_only(),
      nb::arg("cpus") = 1, nb::arg("inter_op_threads") = 0,
      nb::arg("intra_op_threads") = 0,
      "A server for the task; jobs: {job: {task: address}}.");
  m.def(
      "open_session",
      [](const PyGraph& graph, const std::string& target,
         std::vector<std::string> device_filters, bool allow_soft_placement,
         bool log_device_placement, const std::string& placement) {
        const ClusterOptions common = common_options();
        const ClusterSessionOptions options{
            .device_filters = std::move(device_filters),
            .placement = placement_of(placement),
            .allow_soft_placement = allow_soft_placement,
            .log_device_placement = log_device_placement};
        auto session = waiting([&] {
          return open_session(*graph.graph, target, common, options);
        });
        check(session.status());
        return PySession(graph, std::move(*session));
      },
      nb::arg("graph"), nb::arg("target"), nb::kw_only(),
      nb::arg("device_filters") = nb::list(),
      nb::arg("allow_soft_placement") = false,
      nb::arg("log_device_placement") = false,
      nb::arg("placement") = "constraints",
      "A session on the cluster of the server at `target`.");
  m.def(
      "task_status",
      [](const std::string& target) {
        const ClusterOptions common = common_options();
        auto status = waiting([&] { return task_status(target, common); });
        check(status.status());
        nb::dict made;
        made["task"] = nb::cast(status->task);
        made["devices"] = nb::cast(status->devices);
        made["graphs"] = status->graphs;
        made["steps"] = status->steps;
        made["sessions"] = status->sessions;
        made["up_seconds"] = status->up_seconds;
        return made;
      },
      nb::arg("target"), "What the task at `target` has and does.");
  m.def(
      "reset_cluster",
      [](const std::string& target, const std::vector<std::string>& names) {
        const ClusterOptions common = common_options();
        check(waiting([&] { return reset(target, names, common); }));
      },
      nb::arg("target"), nb::arg("containers") = nb::list(),
      "Clears containers of variables on all tasks.");
}

}  // namespace rondo::python
