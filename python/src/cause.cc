#include "cause.h"

#include <nanobind/stl/string.h>

#include <string>

namespace rondo::python {
namespace {

std::string text_of(nb::handle exception) {
  try {
    return nb::str(exception).c_str();
  } catch (nb::python_error&) {
    return "(an exception whose __str__ raises another)";
  }
}

Code code_of(nb::handle exception) {
  int code = 0;
  nb::object base = nb::module_::import_("rondo.errors").attr("Error");
  if (nb::isinstance(exception, base))
    (void)nb::try_cast(nb::getattr(exception, "code"), code);
  // A class of the program's may have a number of its own.
  if (code <= static_cast<int>(Code::kOk) ||
      code > static_cast<int>(Code::kOutOfRange))
    return Code::kInvalidArgument;
  return static_cast<Code>(code);
}

}  // namespace

Status status_of(const nb::python_error& error, std::string_view what) {
  const nb::object raised = nb::borrow(error.value());
  const bool interrupt = error.matches(PyExc_KeyboardInterrupt);
  const Status status =
      Status(interrupt ? Code::kCancelled : code_of(raised),
             fmt::format("{} raised {}: {}", what,
                         Py_TYPE(raised.ptr())->tp_name, text_of(raised)))
          .with_cause(std::make_shared<PyCause>(raised));
  // Last: whatever runs Python code behind it would raise it here.
  if (interrupt) PyErr_SetInterrupt();
  return status;
}

nb::object exception_of(const Status& status) {
  const auto* cause = dynamic_cast<const PyCause*>(status.cause().get());
  return cause ? nb::borrow(cause->exception()) : nb::object();
}

}  // namespace rondo::python
