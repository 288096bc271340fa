// rondo.torch._backend: what Python needs of the backend.
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <pybind11/chrono.h>
#include <pybind11/stl.h>

#include "backend.h"
#include "rondo/torch/mapped.h"
#include "stores.h"

namespace py = pybind11;
using namespace rondo::torch;

PYBIND11_MODULE(_backend, m) {
  m.doc() = "PyTorch's backend \"rondo\".";

  py::class_<Backend::Options, c10d::Backend::Options,
             c10::intrusive_ptr<Backend::Options>>(m, "Options")
      .def(py::init<std::chrono::milliseconds>(), py::arg("timeout"))
      .def("__deepcopy__", [](const Backend::Options& self, const py::dict&) {
        return c10::make_intrusive<Backend::Options>(self);
      });

  py::class_<Backend, c10d::Backend, c10::intrusive_ptr<Backend>>(m, "Backend")
      .def(py::init([](const c10::intrusive_ptr<c10d::Store>& store, int rank,
                       int size, c10::intrusive_ptr<Backend::Options> options) {
             py::gil_scoped_release release;
             return c10::make_intrusive<Backend>(store, rank, size,
                                                 std::move(options));
           }),
           py::arg("store"), py::arg("rank"), py::arg("size"),
           py::arg("options"))
      .def_property_readonly("options", &Backend::getBackendOptions)
      .def("_end", &Backend::end, py::arg("reason"),
           py::call_guard<py::gil_scoped_release>())
      .def("_set_default_timeout", &Backend::setTimeout, py::arg("timeout"));

  py::class_<JobStore, c10d::Store, c10::intrusive_ptr<JobStore>>(m, "JobStore")
      .def(py::init([](std::chrono::milliseconds timeout) {
             py::gil_scoped_release release;
             return c10::make_intrusive<JobStore>(timeout);
           }),
           py::arg("timeout"))
      .def_property_readonly("rank", &JobStore::rank)
      .def_property_readonly("size", &JobStore::size);

  m.def("mapped_empty",
        [](const std::vector<int64_t>& sizes, at::ScalarType dtype) {
          return mapped_empty(sizes, dtype);
        });
  m.def("is_mapped", &is_mapped);
}
