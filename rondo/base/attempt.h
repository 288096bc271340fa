// attempt: what a function that gives a Status or throws comes to.
#pragma once

#include <exception>
#include <utility>

#include "rondo/base/status.h"

namespace rondo {

// f()'s Status, or that of what it threw. For threads and callbacks that an
// exception must not leave.
template <class F>
Status attempt(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  } catch (const std::exception& e) {
    return Status(Code::kInternal, e.what());
  }
}

}  // namespace rondo
