// Sessions as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

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
    const GilRelease release;  // a worker may be letting an array go
    session.reset();
  }

  std::shared_ptr<Graph> graph;
  std::unique_ptr<Session> session;
};

}  // namespace rondo::python
