#include "user_operator.h"

#include <atomic>

#include "array.h"

namespace rondo::python {
namespace {

std::atomic<bool> stopped{false};

}  // namespace

void stop_calling_python() { stopped.store(true); }

void UserOperator::fail(const std::string& reason) {
  comm_.abort(reason);
  comm_ = Communicator();  // or work would keep its communicator
}

void UserOperator::apply(void* inout, const void* in, int64_t count) {
  if (!comm_.valid()) return;  // failed before
  if (stopped.load()) return fail("the interpreter ended during an operation");
  std::string reason;
  {
    nb::gil_scoped_acquire gil;
    try {
      function_(borrow(inout, count, dtype_, true),
                borrow(const_cast<void*>(in), count, dtype_, false));
      return;
    } catch (nb::python_error& e) {
      reason = nb::str(e.value()).c_str();
      raised_.emplace(std::move(e));
    }
  }
  fail("the operator raised an exception: " + reason);
}

void UserOperator::rethrow() {
  if (raised_) throw nb::python_error(*raised_);
}

}  // namespace rondo::python
