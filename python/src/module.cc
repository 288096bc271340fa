#include "bindings.h"

#include "cause.h"
#include "program_call.h"

namespace rondo::python {

nb::object as_exception(const Status& status) {
  if (status.ok()) return nb::none();
  nb::object classes = nb::module_::import_("rondo.errors").attr("BY_CODE");
  nb::object made = classes[nb::int_(static_cast<int>(status.code()))](
      nb::str(status.message().c_str(), status.message().size()));
  if (nb::object cause = exception_of(status); cause.is_valid())
    PyException_SetCause(made.ptr(), cause.release().ptr());
  return made;
}

void check(const Status& status) {
  if (status.ok()) return;
  nb::object exception = exception_of(status);
  // SystemExit and the like, which a function of the program's raised, are for
  // the program's caller; others are the cause of an error of Rondo's.
  if (!exception.is_valid() || nb::isinstance(exception, PyExc_Exception))
    exception = as_exception(status);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace rondo::python

NB_MODULE(_core, m) {
  m.doc() = "What rondo is made of; use the names in the package rondo.";
  // Communicators in globals of a program outlive the interpreter's last look.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const rondo::Error& e) {
          nb::object exception =
              rondo::python::as_exception(rondo::Status(e.code(), e.what()));
          PyErr_SetObject(exception.type().ptr(), exception.ptr());
        }
      },
      nullptr);
  // As early as possible: what is registered first is called last.
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function(&rondo::python::end_program_calls));
  rondo::python::bind_arrays(m);
  rondo::python::bind_stores(m);
  rondo::python::bind_work(m);
  rondo::python::bind_communicator(m);
  rondo::python::bind_dtypes(m);
  rondo::python::bind_op_registry(m);
  rondo::python::bind_graph(m);
  rondo::python::bind_graph_io(m);
  rondo::python::bind_control(m);
  rondo::python::bind_event_writer(m);
  rondo::python::bind_host_call(m);
  rondo::python::bind_session(m);
  rondo::python::bind_cluster(m);
  rondo::python::bind_saver(m);
  rondo::python::bind_datasets(m);
  rondo::python::bind_strategy(m);
}
