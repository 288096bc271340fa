// The parts of the extension module. Bindings convert; what is done is the
// library's.
#pragma once

#include <nanobind/nanobind.h>

#include "rondo/base/status.h"

namespace nb = nanobind;

namespace rondo::python {

// Raises the Python exception for a failure (rondo/errors.py); nothing if ok.
void check(const Status& status);
// The same as an exception object that is not raised; None if ok.
nb::object as_exception(const Status& status);

void bind_arrays(nb::module_& m);
void bind_cluster(nb::module_& m);
void bind_control(nb::module_& m);
void bind_datasets(nb::module_& m);
void bind_dtypes(nb::module_& m);
void bind_event_writer(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_graph_io(nb::module_& m);
void bind_host_call(nb::module_& m);
void bind_op_registry(nb::module_& m);
void bind_saver(nb::module_& m);
void bind_session(nb::module_& m);
void bind_stores(nb::module_& m);
void bind_strategy(nb::module_& m);
void bind_work(nb::module_& m);
void bind_communicator(nb::module_& m);

}  // namespace rondo::python
