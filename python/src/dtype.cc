#include "dtype.h"

#include <fmt/core.h>

#include <nanobind/stl/string.h>

#include <array>
#include <string>

#include "array.h"
#include "bindings.h"
#include "rondo/graph/op.h"

namespace rondo::python {
namespace {

struct PyDType {
  DType dtype;
};

constexpr std::array<const char*, kDTypeCount> kNames = {
    "float64", "float32", "float16", "bfloat16", "int64",
    "int32",   "int16",   "int8",    "uint8",    "bool"};

std::optional<DType> from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<DType>(i);
  return dtype_from_name(name);
}

bool equal(const PyDType& self, nb::handle other) {
  PyDType* same = nullptr;
  if (nb::try_cast(other, same) && same) return same->dtype == self.dtype;
  if (other.is_none()) return false;
  try {
    return to_dtype(other) == self.dtype;
  } catch (nb::python_error&) {
    return false;
  }
}

}  // namespace

const char* python_name(DType dtype) {
  return kNames[static_cast<size_t>(dtype)];
}

DType to_dtype(nb::handle object) {
  PyDType* own = nullptr;
  if (nb::try_cast(object, own) && own) return own->dtype;
  if (PyUnicode_Check(object.ptr()))
    if (const auto dtype = from_name(nb::cast<nb::str>(object).c_str()))
      return *dtype;
  return numpy_dtype_to_dtype(object);
}

nb::object from_dtype(DType dtype) { return nb::cast(PyDType{dtype}); }

void bind_dtypes(nb::module_& m) {
  nb::class_<PyDType>(m, "DType", "What one element of a tensor is.")
      .def(
          "__init__",
          [](PyDType* self, nb::handle like) {
            new (self) PyDType{to_dtype(like)};
          },
          nb::arg("like"))
      .def_prop_ro("name",
                   [](PyDType d) { return std::string(python_name(d.dtype)); })
      .def_prop_ro("size", [](PyDType d) { return size_of(d.dtype); })
      .def_prop_ro(
          "as_numpy_dtype",
          [](PyDType d) { return numpy_dtype(d.dtype).attr("type"); },
          "The NumPy scalar type; bfloat16 is ml_dtypes'.")
      .def_prop_ro("base_dtype", [](nb::object self) { return self; })
      .def_prop_ro("is_floating",
                   [](PyDType d) { return contains(TypeSet::kFloat, d.dtype); })
      .def_prop_ro(
          "is_integer",
          [](PyDType d) { return contains(TypeSet::kInteger, d.dtype); })
      .def_prop_ro("is_bool", [](PyDType d) { return d.dtype == DType::kBool; })
      .def("__eq__", &equal, nb::is_operator(), nb::arg("other").none())
      .def(
          "__ne__", [](const PyDType& d, nb::handle o) { return !equal(d, o); },
          nb::is_operator(), nb::arg("other").none())
      .def("__hash__", [](PyDType d) { return static_cast<int>(d.dtype); })
      .def("__reduce__",
           [](nb::object self) {
             return nb::make_tuple(self.type(),
                                   nb::make_tuple(self.attr("name")));
           })
      .def("__repr__", [](PyDType d) {
        return fmt::format("rondo.{}", python_name(d.dtype));
      });
}

}  // namespace rondo::python
