// NumPy arrays as views, without copying. All with the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "rondo/collectives/communicator.h"

namespace nb = nanobind;

namespace rondo::python {

// The elements of a NumPy array. TypeError or ValueError, which name the
// argument `what` and say what to change, for anything but a C-contiguous,
// aligned array of a dtype that Rondo has; `writable_view` also for read-only
// ones.
ConstView const_view(nb::handle array, const char* what);
View writable_view(nb::handle array, const char* what);

// The dtype object of a NumPy array.
nb::object dtype_object(nb::handle array);
// An array over memory of somebody else's, who keeps it.
nb::object borrow(void* data, int64_t count, nb::handle dtype, bool writable);
// An uninitialised array in memory that same-host peers reduce in place.
nb::object empty(nb::handle shape, nb::handle dtype);
// The same with x's dtype, and x's shape behind `leading` when that is > 0.
nb::object empty_like(nb::handle x, int64_t leading);

}  // namespace rondo::python
