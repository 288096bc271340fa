// Stores from Python: Rondo's own, and objects with the same methods.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "rondo/rendezvous/store.h"

namespace nb = nanobind;

namespace rondo::python {

// The store behind a Python object; TypeError when it is none.
std::shared_ptr<Store> as_store(nb::handle object);

}  // namespace rondo::python
