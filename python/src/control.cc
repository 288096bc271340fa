#include "rondo/graph/ops/control.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attr.h"
#include "bindings.h"
#include "graph.h"
#include "rondo/graph/origin.h"

namespace rondo::python {
namespace {

using PyValues = std::vector<PyValue>;

Values values_of(const PyValues& list) {
  Values values;
  for (const PyValue& item : list) values.push_back(item.value);
  return values;
}

PyValues wrap(const std::shared_ptr<Graph>& graph, const Values& values) {
  PyValues list;
  for (const Value& value : values) list.push_back({graph, value});
  return list;
}

// The functions are called before these return.
PyValues python_cond(const PyValue& condition,
                     const std::function<PyValues()>& if_true,
                     const std::function<PyValues()>& if_false) {
  const OriginScope line(program_line());
  return wrap(condition.graph,
              cond(
                  condition.value, [&] { return values_of(if_true()); },
                  [&] { return values_of(if_false()); }));
}

PyValues python_while_loop(const std::function<PyValue(PyValues)>& condition,
                           const std::function<PyValues(PyValues)>& body,
                           const PyValues& initial, int parallel_iterations,
                           std::string name, const nb::list& shapes) {
  if (initial.empty())
    throw Error(Code::kInvalidArgument, "while_loop: it has no loop variables");
  const auto& graph = initial[0].graph;
  const OriginScope line(program_line());
  WhileOptions options{.parallel_iterations = parallel_iterations,
                       .name = std::move(name)};
  for (nb::handle shape : shapes) options.shapes.push_back(to_shape(shape));
  return wrap(graph, while_loop(
                         [&](const Values& values) {
                           return condition(wrap(graph, values)).value;
                         },
                         [&](const Values& values) {
                           return values_of(body(wrap(graph, values)));
                         },
                         values_of(initial), std::move(options)));
}

}  // namespace

void bind_control(nb::module_& m) {
  m.def("cond", &python_cond, nb::arg("condition"), nb::arg("if_true"),
        nb::arg("if_false"),
        "The values that one of two functions gives, as the condition says.");
  m.def("while_loop", &python_while_loop, nb::arg("condition"), nb::arg("body"),
        nb::arg("initial"), nb::arg("parallel_iterations") = 10,
        nb::arg("name") = "while", nb::arg("shapes") = nb::list(),
        "The loop variables once the condition of them does not hold.");
}

}  // namespace rondo::python
