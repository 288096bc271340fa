// NumPy arrays as views, without copying. All with the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "rondo/collectives/communicator.h"
#include "rondo/tensor/tensor.h"

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

// An array, or what NumPy makes one of, as a tensor. Over the array's own
// memory, which the tensor keeps, unless `copy` or the layout asks for more.
Tensor to_tensor(nb::handle array, const char* what, bool copy);
// The tensor as an array that keeps its buffer.
nb::object to_array(Tensor tensor);
// Between element types and NumPy's dtype objects.
nb::object numpy_dtype(DType dtype);
DType numpy_dtype_to_dtype(nb::handle dtype);

}  // namespace rondo::python
