#include "graph.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "attr.h"
#include "bindings.h"
#include "dtype.h"
#include "rondo/graph/gradients.h"
#include "rondo/graph/op_registry.h"
#include "rondo/graph/ops/matrix.h"

namespace rondo::python {
namespace {

std::vector<Value> values_of(const std::vector<PyValue>& list) {
  std::vector<Value> values;
  values.reserve(list.size());
  for (const PyValue& item : list) values.push_back(item.value);
  return values;
}

std::vector<Node*> nodes_of(const std::vector<PyNode>& list) {
  std::vector<Node*> nodes;
  nodes.reserve(list.size());
  for (const PyNode& item : list) nodes.push_back(item.node);
  return nodes;
}

nb::list wrap(const std::shared_ptr<Graph>& graph,
              const std::vector<Value>& values) {
  nb::list list;
  for (const Value& value : values) list.append(PyValue{graph, value});
  return list;
}

PyNode add(PyGraph& self, std::string_view op,
           const std::vector<PyValue>& inputs, const nb::dict& attrs,
           std::string name, const std::vector<PyNode>& control_inputs,
           std::string origin) {
  const OpDef* def = OpRegistry::process().find(op);
  Node& node = self.graph->add({.op = op,
                                .inputs = values_of(inputs),
                                .attrs = def ? to_attrs(*def, attrs) : Attrs(),
                                .name = std::move(name),
                                .control_inputs = nodes_of(control_inputs),
                                .origin = std::move(origin)});
  return {self.graph, &node};
}

nb::list nodes(const PyGraph& self) {
  nb::list list;
  for (const auto& node : self.graph->nodes())
    list.append(PyNode{self.graph, node.get()});
  return list;
}

nb::object find(const PyGraph& self, std::string_view name) {
  Node* node = self.graph->find(name);
  return node ? nb::cast(PyNode{self.graph, node}) : nb::none();
}

nb::dict collections(const PyGraph& self) {
  nb::dict all;
  for (const auto& [name, values] : self.graph->collections())
    all[nb::str(name.c_str(), name.size())] = wrap(self.graph, values);
  return all;
}

void exit_scope(PyGraph& self) {
  if (self.scopes.empty())
    throw Error(Code::kInvalidArgument, "exit_scope: no scope is open");
  self.scopes.pop_back();
}

nb::dict attrs_of(const PyNode& self) {
  nb::dict attrs;
  for (const auto& [name, value] : self.node->attrs().items())
    attrs[nb::str(name.c_str(), name.size())] = from_attr(value);
  return attrs;
}

nb::list outputs_of(const PyNode& self) {
  nb::list list;
  for (int i = 0; i < static_cast<int>(self.node->outputs().size()); ++i)
    list.append(PyValue{self.graph, self.node->output(i)});
  return list;
}

nb::list control_inputs_of(const PyNode& self) {
  nb::list list;
  for (Node* node : self.node->control_inputs())
    list.append(PyNode{self.graph, node});
  return list;
}

// Per x: None, a value, or (values, indices, shape) where it is sparse.
nb::list python_gradients(const std::vector<PyValue>& ys,
                          const std::vector<PyValue>& xs,
                          const std::vector<PyValue>& grad_ys) {
  nb::list result;
  if (xs.empty()) return result;
  const auto& graph = xs[0].graph;
  for (const Gradient& gradient :
       gradients(values_of(ys), values_of(xs), values_of(grad_ys))) {
    if (!gradient)
      result.append(nb::none());
    else if (gradient.sparse())
      result.append(nb::make_tuple(PyValue{graph, gradient.values},
                                   PyValue{graph, gradient.indices},
                                   PyValue{graph, gradient.shape}));
    else
      result.append(PyValue{graph, gradient.values});
  }
  return result;
}

void bind_values(nb::module_& m) {
  nb::class_<PyValue>(m, "Value", "One output of a node.")
      .def_prop_ro("node",
                   [](const PyValue& v) {
                     return PyNode{v.graph, v.value.node};
                   })
      .def_prop_ro("index", [](const PyValue& v) { return v.value.index; })
      .def_prop_ro("op",
                   [](const PyValue& v) { return v.value.node->op().name; })
      .def_prop_ro("name", [](const PyValue& v) { return v.value.name(); })
      .def_prop_ro("dtype",
                   [](const PyValue& v) { return from_dtype(v.value.dtype()); })
      .def_prop_ro(
          "shape", [](const PyValue& v) { return from_shape(v.value.shape()); },
          "A tuple with None for each extent that is not known; None when not "
          "even their number is.")
      .def(
          "set_shape",
          [](const PyValue& v, nb::handle shape) {
            v.value.node->set_shape(
                v.value.index, merge(v.value.shape(), to_shape(shape)).value());
          },
          nb::arg("shape").none(), "Adds to what is known of the shape.")
      .def(
          "__eq__",
          [](const PyValue& a, const PyValue& b) { return a.value == b.value; },
          nb::is_operator())
      .def("__hash__",
           [](const PyValue& v) {
             return std::hash<Node*>()(v.value.node) +
                    static_cast<size_t>(v.value.index);
           })
      .def("__repr__", [](const PyValue& v) {
        return fmt::format("<{} {} {}>", v.value.name(),
                           python_name(v.value.dtype()),
                           v.value.shape().to_string());
      });
}

void bind_nodes(nb::module_& m) {
  nb::class_<PyNode>(m, "Node", "An operation of a graph.")
      .def_prop_ro("id", [](const PyNode& n) { return n.node->id(); })
      .def_prop_ro("name", [](const PyNode& n) { return n.node->name(); })
      .def_prop_ro("op", [](const PyNode& n) { return n.node->op().name; })
      .def_prop_ro("attrs", &attrs_of)
      .def_prop_ro(
          "inputs",
          [](const PyNode& n) { return wrap(n.graph, n.node->inputs()); })
      .def_prop_ro("outputs", &outputs_of)
      .def_prop_ro("control_inputs", &control_inputs_of)
      .def_prop_rw(
          "device", [](const PyNode& n) { return n.node->device(); },
          [](const PyNode& n, std::string device) {
            n.node->set_device(std::move(device));
          })
      .def_prop_ro(
          "colocated_with",
          [](const PyNode& n) { return n.node->colocated_with(); },
          "Names of nodes whose device it is to share.")
      .def_prop_ro(
          "origin", [](const PyNode& n) { return n.node->origin(); },
          "The line of the program that made it.")
      .def(
          "describe", [](const PyNode& n) { return n.node->describe(); },
          "How messages name it.")
      .def(
          "add_control_input",
          [](const PyNode& n, const PyNode& before) {
            n.node->add_control_input(*before.node);
          },
          nb::arg("before"))
      .def(
          "__eq__",
          [](const PyNode& a, const PyNode& b) { return a.node == b.node; },
          nb::is_operator())
      .def("__hash__",
           [](const PyNode& n) { return std::hash<Node*>()(n.node); })
      .def("__repr__", [](const PyNode& n) {
        return fmt::format("<{}>", n.node->describe());
      });
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_values(m);
  bind_nodes(m);
  nb::class_<PyGraph>(m, "Graph", "The nodes of a program.")
      .def(nb::init<>())
      .def("add", &add, nb::arg("op"), nb::arg("inputs") = nb::list(),
           nb::arg("attrs") = nb::dict(), nb::arg("name") = "",
           nb::arg("control_inputs") = nb::list(), nb::arg("origin") = "",
           "Makes a node.")
      .def_prop_ro("nodes", &nodes, "In order of creation.")
      .def("__len__", [](const PyGraph& g) { return g.graph->nodes().size(); })
      .def("find", &find, nb::arg("name"),
           "The node of this name; None when there is none.")
      .def(
          "value",
          [](const PyGraph& g, std::string_view name) {
            return PyValue{g.graph, g.graph->value(name)};
          },
          nb::arg("name"), "\"name\" or \"name:1\".")
      .def(
          "unique_name",
          [](PyGraph& g, std::string_view name) {
            return g.graph->unique_name(name);
          },
          nb::arg("name"))
      .def(
          "enter_name_scope",
          [](PyGraph& g, std::string_view name) {
            g.scopes.push_back(std::make_shared<NameScope>(*g.graph, name));
            return g.graph->name_scope();
          },
          nb::arg("name"), "The scope's whole name.")
      .def(
          "enter_device_scope",
          [](PyGraph& g, std::string_view device) {
            g.scopes.push_back(std::make_shared<DeviceScope>(*g.graph, device));
          },
          nb::arg("device"))
      .def(
          "enter_colocate_scope",
          [](PyGraph& g, const PyNode& with, bool clear) {
            g.scopes.push_back(
                std::make_shared<ColocateScope>(*g.graph, *with.node, clear));
          },
          nb::arg("with_node"), nb::arg("clear") = false)
      .def(
          "enter_control_scope",
          [](PyGraph& g, const std::vector<PyNode>& before, bool clear) {
            g.scopes.push_back(std::make_shared<ControlScope>(
                *g.graph, nodes_of(before), clear));
          },
          nb::arg("before"), nb::arg("clear") = false)
      .def("exit_scope", &exit_scope, "Leaves the scope entered last.")
      .def_prop_ro("name_scope",
                   [](const PyGraph& g) { return g.graph->name_scope(); })
      .def_prop_ro("device_scope",
                   [](const PyGraph& g) { return g.graph->device_scope(); })
      .def(
          "collection",
          [](PyGraph& g, std::string_view name) {
            return wrap(g.graph, g.graph->collection(name));
          },
          nb::arg("name"))
      .def(
          "add_to_collection",
          [](PyGraph& g, std::string_view name, const PyValue& value) {
            g.graph->collection(name).push_back(value.value);
          },
          nb::arg("name"), nb::arg("value"))
      .def_prop_ro("collections", &collections)
      .def_prop_rw(
          "seed", [](const PyGraph& g) { return g.graph->seed(); },
          [](PyGraph& g, int64_t value) { g.graph->set_seed(value); },
          "Where random operations without a seed of their own take theirs "
          "from; 0: unpredictable.");
  m.def("gradients", &python_gradients, nb::arg("ys"), nb::arg("xs"),
        nb::arg("grad_ys") = nb::list(),
        "For each x None, its gradient, or (values, indices, shape) of a "
        "sparse one.");
  m.def(
      "einsum",
      [](std::string_view equation, const std::vector<PyValue>& operands) {
        if (operands.empty())
          throw Error(Code::kInvalidArgument, "einsum: it needs operands");
        return PyValue{operands[0].graph,
                       einsum(equation, values_of(operands))};
      },
      nb::arg("equation"), nb::arg("operands"), "Einstein summation.");
}

}  // namespace rondo::python
