#include "user_operator.h"

#include <atomic>

#include "array.h"

namespace rondo::python {
namespace {

std::atomic<bool> stopped{false};

}  // namespace

void stop_calling_python() { stopped.store(true); }

Status UserOperator::apply(void* inout, const void* in, int64_t count) {
  if (stopped.load())
    return error(Code::kCancelled, "its interpreter has ended");
  nb::gil_scoped_acquire gil;
  try {
    function_(borrow(inout, count, dtype_, true),
              borrow(const_cast<void*>(in), count, dtype_, false));
    return {};
  } catch (nb::python_error& e) {
    raised_.emplace(std::move(e));
    return error(Code::kCancelled, "{}: {}",
                 Py_TYPE(raised_->value().ptr())->tp_name,
                 nb::str(raised_->value()).c_str());
  }
}

void UserOperator::rethrow() {
  if (raised_) throw nb::python_error(*raised_);
}

}  // namespace rondo::python
