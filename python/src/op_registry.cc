#include "rondo/graph/op_registry.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "attr.h"
#include "bindings.h"
#include "rondo/kernels/op_library.h"

namespace rondo::python {
namespace {

nb::dict describe(const InputSpec& spec) {
  nb::dict d;
  d["name"] = spec.name;
  d["types"] = name_of(spec.types);
  d["list"] = spec.list;
  d["type_group"] = spec.type_group;
  return d;
}

nb::dict describe(const AttrSpec& spec) {
  nb::dict d;
  d["name"] = spec.name;
  d["kind"] = kind_name(spec.value.index());
  d["default"] = spec.required ? nb::none() : from_attr(spec.value);
  d["required"] = spec.required;
  d["doc"] = spec.doc;
  return d;
}

nb::dict describe(const OpDef& op) {
  nb::dict d;
  d["name"] = op.name;
  d["doc"] = op.doc;
  nb::list inputs, outputs, attrs;
  for (const InputSpec& spec : op.inputs) inputs.append(describe(spec));
  for (const auto& name : op.outputs) outputs.append(name);
  for (const AttrSpec& spec : op.attrs) attrs.append(describe(spec));
  d["inputs"] = inputs;
  d["outputs"] = outputs;
  d["attrs"] = attrs;
  d["differentiable"] = op.gradient != nullptr;
  d["constant"] = op.constant;
  d["stateful"] = op.kind == OpKind::kStateful;
  return d;
}

}  // namespace

void bind_op_registry(nb::module_& m) {
  m.def(
      "operations",
      [] {
        nb::list names;
        for (const OpDef* op : OpRegistry::process().all())
          names.append(op->name);
        return names;
      },
      "The names of all operations.");
  m.def(
      "operation",
      [](std::string_view name) -> nb::object {
        const OpDef* op = OpRegistry::process().find(name);
        return op ? nb::object(describe(*op)) : nb::none();
      },
      nb::arg("name"),
      "An operation's inputs, outputs, attributes and documentation; None when "
      "there is none.");
  m.def(
      "load_op_library",
      [](const std::string& path) { return load_op_library(path).value(); },
      nb::arg("path"), "Loads operations; their names.");
}

}  // namespace rondo::python
