// Attributes of nodes from Python objects and back.
#pragma once

#include <nanobind/nanobind.h>

#include "rondo/graph/op.h"

namespace nb = nanobind;

namespace rondo::python {

// A dict as attributes, each of the kind that the operation says. What is None
// is left out. An error names the attribute and what it takes.
Attrs to_attrs(const OpDef& op, const nb::dict& given);
// Types as rondo.DType, shapes as below, tensors as arrays.
nb::object from_attr(const AttrValue& value);

// None, or a sequence of extents of which each may be None or -1.
PartialShape to_shape(nb::handle object);
// None, or a tuple with None where an extent is not known.
nb::object from_shape(const PartialShape& shape);

}  // namespace rondo::python
