#include "cause.h"

#include <nanobind/stl/string.h>

namespace rondo::python {

PyCause::~PyCause() {
  if (!nb::is_alive()) {
    (void)exception_.release();
    return;
  }
  const nb::gil_scoped_acquire gil;
  exception_.reset();
}

Status status_of(const nb::python_error& error) {
  const nb::object raised = nb::borrow(error.value());
  nb::object base = nb::module_::import_("rondo.errors").attr("Error");
  int code = static_cast<int>(Code::kInvalidArgument);
  if (nb::isinstance(raised, base))
    (void)nb::try_cast(nb::getattr(raised, "code"), code);
  // As an exception of Python's has it where the program did not fill it in.
  if (code <= 0 || code > static_cast<int>(Code::kOutOfRange))
    code = static_cast<int>(Code::kInvalidArgument);
  return Status(static_cast<Code>(code),
                fmt::format("its function raised {}: {}",
                            Py_TYPE(raised.ptr())->tp_name,
                            nb::str(raised).c_str()))
      .with_cause(std::make_shared<PyCause>(raised));
}

nb::object exception_of(const Status& status) {
  const auto* cause = dynamic_cast<const PyCause*>(status.cause().get());
  return cause ? nb::borrow(cause->exception()) : nb::object();
}

}  // namespace rondo::python
