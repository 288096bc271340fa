// Sessions as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>

#include "graph.h"
#include "program_call.h"
#include "rondo/runtime/session.h"

namespace nb = nanobind;

namespace rondo::python {

struct PySession {
  PySession(const PyGraph& g, SessionOptions options)
      : graph(g.graph), session(std::make_unique<Session>(*graph, options)) {}
  PySession(const PyGraph& g, std::unique_ptr<Session> s)
      : graph(g.graph), session(std::move(s)) {}
  PySession(PySession&&) = default;
  ~PySession() {
    using Both = std::pair<std::shared_ptr<Graph>, std::unique_ptr<Session>>;
    if (session)
      let_go(std::make_shared<Both>(std::move(graph), std::move(session)));
  }

  std::shared_ptr<Graph> graph;
  std::unique_ptr<Session> session;
};

// "constraints" or "cost".
PlacementKind placement_of(const std::string& name);

}  // namespace rondo::python
