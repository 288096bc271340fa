#include "work.h"

#include <nanobind/stl/optional.h>

#include <algorithm>

#include "bindings.h"
#include "interrupt.h"
#include "program_call.h"

namespace rondo::python {
namespace {

// What the operations of dropped Works use. Guarded by the GIL; entries go when
// the next Work is made or dropped, and none is freed at exit.
struct Dropped {
  Work work;
  std::vector<nb::object> used;
};
std::vector<Dropped>& dropped() {
  static auto* all = new std::vector<Dropped>;
  return *all;
}

void forget_what_is_over() {
  auto& all = dropped();
  std::vector<Dropped> over;  // freed last: freeing may run Python code
  for (size_t i = 0; i < all.size();) {
    if (!all[i].work.test()) {
      ++i;
      continue;
    }
    over.push_back(std::move(all[i]));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

PyWork::PyWork(Work work, nb::object result, std::vector<nb::object> used,
               std::shared_ptr<UserOperator> user)
    : work_(std::move(work)),
      result_(std::move(result)),
      used_(std::move(used)),
      user_(std::move(user)) {
  forget_what_is_over();
}

PyWork::~PyWork() {
  if (work_.test()) return;
  used_.push_back(std::move(result_));
  dropped().push_back({work_, std::move(used_)});
}

nb::object PyWork::wait(std::optional<double> timeout) {
  constexpr Duration kSlice = std::chrono::milliseconds(100);
  const Deadline deadline =
      timeout ? Deadline(seconds(std::max(0.0, *timeout))) : Deadline::never();
  PyInterrupt::before();
  Status status;
  for (;;) {
    bool over = false;
    {
      const GilRelease release;
      status = work_.wait(std::min(kSlice, deadline.left()));
      over = work_.test() || deadline.passed();
      if (over && work_.test()) status = work_.error();
    }
    PyInterrupt::after();  // the operation goes on
    if (over) break;
  }
  if (user_ && work_.test()) user_->rethrow();
  check(status);
  return result_;
}

void PyWork::cancel() {
  const GilRelease release;
  work_.cancel();
}

nb::object PyWork::error() const { return as_exception(work_.error()); }

void bind_work(nb::module_& m) {
  nb::class_<PyWork>(m, "Work", "An operation under way.")
      .def("wait", &PyWork::wait, nb::arg("timeout") = nb::none(),
           "Waits until it is over and returns the result. With a time-out in "
           "seconds, raises TimeoutError then; the operation goes on.")
      .def("test", &PyWork::test, "Whether it is over.")
      .def("cancel", &PyWork::cancel,
           "Gives it up, and with it the communicator, on every rank.")
      .def_prop_ro("error", &PyWork::error,
                   "The exception it ended with; None if there is none.");
}

}  // namespace rondo::python
