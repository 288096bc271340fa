#include "rondo/graph/ops/host_call.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array.h"
#include "bindings.h"
#include "cause.h"
#include "dtype.h"
#include "graph.h"
#include "program_call.h"

namespace rondo::python {
namespace {

nb::object weak_reference(nb::handle object) {
  nb::object made = nb::steal(PyWeakref_NewRef(object.ptr(), nullptr));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

// A Python object with the methods call(*arrays) and gradient(names). Who made
// the graph keeps it: a strong reference from here would be one that Python's
// garbage collector does not see, and functions often refer to their graph.
class PyHostFunction final : public HostFunction {
 public:
  explicit PyHostFunction(nb::handle object)
      : reference_(share(weak_reference(object))) {}

  Result<std::vector<Tensor>> call(
      std::span<const Tensor> inputs) const override {
    const ProgramCall program;
    if (!program.entered()) return ProgramCall::ended();
    try {
      nb::list arrays;
      for (const Tensor& input : inputs) {
        nb::object array = to_array(input);
        // Others may have the same memory.
        array.attr("setflags")(nb::arg("write") = false);
        arrays.append(array);
      }
      std::vector<Tensor> results;
      for (nb::handle result : object().attr("call")(*arrays))
        results.push_back(to_tensor(result, "result", true));
      return results;
    } catch (const nb::python_error& e) {
      return status_of(e, "its function");
    }
  }

  std::vector<Gradient> gradient(Node& node,
                                 std::span<const Value> grads) const override {
    const nb::gil_scoped_acquire gil;
    nb::list names;
    for (const Value& grad : grads) {
      if (grad)
        names.append(nb::cast(grad.name()));
      else
        names.append(nb::none());
    }
    // Through the outputs themselves nothing flows back.
    std::vector<Gradient> back(node.outputs().size());
    for (nb::handle name : object().attr("gradient")(names)) {
      if (name.is_none())
        back.emplace_back();
      else
        back.emplace_back(node.graph().value(nb::cast<std::string>(name)));
    }
    return back;
  }

 private:
  nb::object object() const {
    nb::object alive = (*reference_)();
    if (alive.is_none())
      throw Error(Code::kInvalidArgument,
                  "its function has gone with its graph");
    return alive;
  }

  const SharedObject reference_;
};

std::vector<Value> values_of(const std::vector<PyValue>& list) {
  std::vector<Value> values;
  values.reserve(list.size());
  for (const PyValue& item : list) values.push_back(item.value);
  return values;
}

PyNode host_call_of(PyGraph& graph, const nb::object& function,
                    const std::vector<PyValue>& inputs, const nb::list& types,
                    std::string name, std::string origin) {
  std::vector<DType> dtypes;
  for (nb::handle type : types) dtypes.push_back(to_dtype(type));
  Node& node = add_host_call(
      *graph.graph, std::make_shared<PyHostFunction>(function),
      values_of(inputs), dtypes, std::move(name), std::move(origin));
  return {graph.graph, &node};
}

PyNode custom_gradient_of(PyGraph& graph, const nb::object& function,
                          const std::vector<PyValue>& ys,
                          const std::vector<PyValue>& xs, std::string name,
                          std::string origin) {
  Node& node = add_custom_gradient(
      *graph.graph, std::make_shared<PyHostFunction>(function), values_of(ys),
      values_of(xs), std::move(name), std::move(origin));
  return {graph.graph, &node};
}

}  // namespace

void bind_host_call(nb::module_& m) {
  m.def("add_host_call", &host_call_of, nb::arg("graph"), nb::arg("function"),
        nb::arg("inputs"), nb::arg("types"), nb::arg("name") = "",
        nb::arg("origin") = "",
        "A node that calls function.call(*arrays). The caller keeps the "
        "function as long as the graph.");
  m.def("add_custom_gradient", &custom_gradient_of, nb::arg("graph"),
        nb::arg("function"), nb::arg("ys"), nb::arg("xs"), nb::arg("name") = "",
        nb::arg("origin") = "",
        "A node with the values of ys; function.gradient(names of their "
        "gradients) gives the names of those of xs, or None.");
}

}  // namespace rondo::python
