#include "attr.h"

#include <fmt/core.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "array.h"
#include "dtype.h"

namespace rondo::python {
namespace {

[[noreturn]] void wrong(const std::string& text) {
  throw Error(Code::kInvalidArgument, text);
}

// An int or whatever says that it is one, such as NumPy's; not a float.
int64_t to_int(nb::handle object) {
  nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  const int64_t value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) throw nb::python_error();
  return value;
}

double to_double(nb::handle object) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1 && PyErr_Occurred()) throw nb::python_error();
  return value;
}

std::string to_text(nb::handle object) {
  std::string text;
  if (PyBytes_Check(object.ptr()))
    return {PyBytes_AS_STRING(object.ptr()),
            static_cast<size_t>(PyBytes_GET_SIZE(object.ptr()))};
  if (!nb::try_cast(object, text))
    wrong(
        fmt::format("expected a str, got {}", Py_TYPE(object.ptr())->tp_name));
  return text;
}

bool to_bool(nb::handle object) {
  const int value = PyObject_IsTrue(object.ptr());
  if (value < 0) throw nb::python_error();
  return value != 0;
}

// The elements of a sequence; a single one counts as a list of one.
template <class Convert>
auto to_list(nb::handle object, Convert convert) {
  std::vector<decltype(convert(object))> list;
  if (PySequence_Check(object.ptr()) && !PyUnicode_Check(object.ptr()) &&
      !PyBytes_Check(object.ptr()))
    for (nb::handle item : nb::iter(object)) list.push_back(convert(item));
  else
    list.push_back(convert(object));
  return list;
}

struct ToAttr {
  nb::handle object;
  AttrValue operator()(bool) const { return to_bool(object); }
  AttrValue operator()(int64_t) const { return to_int(object); }
  AttrValue operator()(double) const { return to_double(object); }
  AttrValue operator()(const std::string&) const { return to_text(object); }
  AttrValue operator()(DType) const { return to_dtype(object); }
  AttrValue operator()(const PartialShape&) const { return to_shape(object); }
  AttrValue operator()(const Tensor&) const {
    return to_tensor(object, "attribute", true);
  }
  AttrValue operator()(const Ints&) const { return to_list(object, to_int); }
  AttrValue operator()(const std::vector<double>&) const {
    return to_list(object, to_double);
  }
  AttrValue operator()(const std::vector<std::string>&) const {
    return to_list(object, to_text);
  }
  AttrValue operator()(const std::vector<DType>&) const {
    return to_list(object, to_dtype);
  }
  AttrValue operator()(const std::vector<PartialShape>&) const {
    std::vector<PartialShape> shapes;
    for (nb::handle item : nb::iter(object)) shapes.push_back(to_shape(item));
    return shapes;
  }
};

struct FromAttr {
  nb::object operator()(bool v) const { return nb::bool_(v); }
  nb::object operator()(int64_t v) const { return nb::int_(v); }
  nb::object operator()(double v) const { return nb::float_(v); }
  nb::object operator()(const std::string& v) const {
    return nb::str(v.c_str(), v.size());
  }
  nb::object operator()(DType v) const { return from_dtype(v); }
  nb::object operator()(const PartialShape& v) const { return from_shape(v); }
  nb::object operator()(const Tensor& v) const {
    return to_array(v.count() > 0 ? v.clone() : v);
  }
  template <class T>
  nb::object operator()(const std::vector<T>& v) const {
    nb::list list;
    for (const T& item : v) list.append((*this)(item));
    return nb::object(list);
  }
};

}  // namespace

PartialShape to_shape(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::hasattr(object, "ndims") && object.attr("ndims").is_none()) return {};
  return PartialShape(to_list(object, [](nb::handle item) -> int64_t {
    return item.is_none() ? kAny : to_int(item);
  }));
}

nb::object from_shape(const PartialShape& shape) {
  if (!shape.has_rank()) return nb::none();
  nb::list extents;
  for (const int64_t extent : shape.extents()) {
    if (extent == kAny)
      extents.append(nb::none());
    else
      extents.append(extent);
  }
  return nb::tuple(extents);
}

Attrs to_attrs(const OpDef& op, const nb::dict& given) {
  Attrs attrs;
  for (auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    const auto spec =
        std::find_if(op.attrs.begin(), op.attrs.end(),
                     [&](const AttrSpec& s) { return s.name == name; });
    if (spec == op.attrs.end()) {
      std::string names;
      for (const AttrSpec& s : op.attrs)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", s.name);
      wrong(fmt::format("{} has no attribute \"{}\"; it has: {}", op.name, name,
                        names.empty() ? "none" : names));
    }
    // None is a shape of which nothing is known, and else means "as it is".
    if (value.is_none()) continue;
    try {
      attrs.set(name, std::visit(ToAttr{value}, spec->value));
    } catch (nb::python_error& e) {
      const std::string why = nb::str(e.value()).c_str();
      wrong(fmt::format("{}: attribute \"{}\" takes a {}: {}", op.name, name,
                        kind_name(spec->value.index()), why));
    } catch (const Error& e) {
      wrong(fmt::format("{}: attribute \"{}\": {}", op.name, name, e.what()));
    }
  }
  return attrs;
}

nb::object from_attr(const AttrValue& value) {
  return std::visit(FromAttr{}, value);
}

}  // namespace rondo::python
