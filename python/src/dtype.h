// Element types from Python: objects of their own (rondo.float32), and whatever
// NumPy takes for a dtype.
#pragma once

#include <nanobind/nanobind.h>

#include "rondo/tensor/dtype.h"

namespace nb = nanobind;

namespace rondo::python {

// The element type that a Python object stands for: a rondo.DType, a NumPy
// dtype or what makes one, or a name; TypeError for anything else.
DType to_dtype(nb::handle object);
nb::object from_dtype(DType dtype);
// "float32", "bfloat16", "int64", as Python spells them.
const char* python_name(DType dtype);

}  // namespace rondo::python
