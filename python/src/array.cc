#include "array.h"

#include <array>
#include <cstring>
#include <string>

#include "bindings.h"
#include "program_call.h"
#include "rondo/tensor/heap.h"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

namespace rondo::python {
namespace {

[[noreturn]] void raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

std::string text_of(nb::handle object) { return nb::str(object).c_str(); }

std::optional<DType> dtype_from(PyArray_Descr* descr) {
  const auto bytes = PyDataType_ELSIZE(descr);
  // ml_dtypes and others register a type of this name with NumPy.
  if (PyTypeNum_ISUSERDEF(descr->type_num)) {
    const std::string_view name = descr->typeobj->tp_name;
    if (bytes == 2 && name.ends_with("bfloat16")) return DType::kBF16;
    return std::nullopt;
  }
  switch (descr->kind) {
    case 'b': return DType::kBool;
    case 'u':
      if (bytes == 1) return DType::kU8;
      break;
    case 'i':
      if (bytes == 8) return DType::kI64;
      if (bytes == 4) return DType::kI32;
      if (bytes == 2) return DType::kI16;
      if (bytes == 1) return DType::kI8;
      break;
    case 'f':
      if (bytes == 8) return DType::kF64;
      if (bytes == 4) return DType::kF32;
      if (bytes == 2) return DType::kF16;
      break;
    default: break;
  }
  return std::nullopt;
}

DType require_dtype(PyArray_Descr* descr, const char* what) {
  const auto dtype = dtype_from(descr);
  if (!dtype)
    raise(PyExc_TypeError,
          fmt::format("{}: dtype {} is not supported; use float64, float32, "
                      "float16, bfloat16, int64, int32, int16, int8, uint8 or "
                      "bool (x.astype(...))",
                      what, text_of(reinterpret_cast<PyObject*>(descr))));
  return *dtype;
}

View view(nb::handle object, const char* what, bool writable) {
  if (!PyArray_Check(object.ptr()))
    raise(PyExc_TypeError,
          fmt::format("{}: expected a numpy.ndarray, got {}; numpy.asarray(x) "
                      "makes one",
                      what, Py_TYPE(object.ptr())->tp_name));
  auto* array = reinterpret_cast<PyArrayObject*>(object.ptr());
  const DType dtype = require_dtype(PyArray_DESCR(array), what);
  if (!PyArray_IS_C_CONTIGUOUS(array))
    raise(PyExc_ValueError,
          fmt::format("{}: the array is not C-contiguous; pass "
                      "numpy.ascontiguousarray(x), and copy a result back",
                      what));
  if (!PyArray_ISBEHAVED_RO(array))
    raise(PyExc_ValueError,
          fmt::format("{}: the array is not aligned or has foreign byte order; "
                      "pass a copy (x.astype(x.dtype.newbyteorder('=')))",
                      what));
  if (writable && !PyArray_ISWRITEABLE(array))
    raise(PyExc_ValueError,
          fmt::format("{}: the array is read-only; pass a copy (x.copy())",
                      what));
  return {PyArray_DATA(array), static_cast<int64_t>(PyArray_SIZE(array)),
          dtype};
}

nb::object new_array(PyArray_Descr* descr, int rank, const npy_intp* shape) {
  npy_intp count = 1;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] < 0)
      raise(PyExc_ValueError, "empty: an extent of the shape is negative");
    if (__builtin_mul_overflow(count, shape[i], &count))
      raise(PyExc_ValueError, "empty: the shape has too many elements");
  }
  const auto bytes = static_cast<size_t>(count) *
                     static_cast<size_t>(PyDataType_ELSIZE(descr));
  void* memory = SharedHeap::process().allocate(bytes);
  if (memory == nullptr) raise(PyExc_MemoryError, "empty: no memory left");
  nb::capsule owner(memory,
                    [](void* p) noexcept { SharedHeap::process().free(p); });
  Py_INCREF(descr);  // which the next call takes
  PyObject* made =
      PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, nullptr, memory,
                           NPY_ARRAY_CARRAY, nullptr);
  if (made == nullptr) throw nb::python_error();
  nb::object array = nb::steal(made);
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(made),
                            owner.release().ptr()) < 0)
    throw nb::python_error();
  return array;
}

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

}  // namespace

ConstView const_view(nb::handle array, const char* what) {
  return view(array, what, false);
}

View writable_view(nb::handle array, const char* what) {
  return view(array, what, true);
}

nb::object dtype_object(nb::handle array) {
  return nb::borrow(reinterpret_cast<PyObject*>(
      PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.ptr()))));
}

nb::object borrow(void* data, int64_t count, nb::handle dtype, bool writable) {
  npy_intp shape = static_cast<npy_intp>(count);
  Py_INCREF(dtype.ptr());  // which the next call takes
  PyObject* made = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(dtype.ptr()), 1, &shape,
      nullptr, data, writable ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO,
      nullptr);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object empty(nb::handle shape, nb::handle dtype) {
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(dtype.ptr(), &descr) == NPY_FAIL)
    throw nb::python_error();
  nb::object owner = nb::steal(reinterpret_cast<PyObject*>(descr));
  (void)require_dtype(descr, "dtype");
  PyArray_Dims dims{nullptr, 0};
  if (PyArray_IntpConverter(shape.ptr(), &dims) == NPY_FAIL)
    throw nb::python_error();
  const std::vector<npy_intp> extents(dims.ptr, dims.ptr + dims.len);
  PyDimMem_FREE(dims.ptr);
  return new_array(descr, static_cast<int>(extents.size()), extents.data());
}

nb::object empty_like(nb::handle x, int64_t leading) {
  auto* array = reinterpret_cast<PyArrayObject*>(x.ptr());
  std::vector<npy_intp> extents;
  if (leading > 0) extents.push_back(static_cast<npy_intp>(leading));
  extents.insert(extents.end(), PyArray_DIMS(array),
                 PyArray_DIMS(array) + PyArray_NDIM(array));
  return new_array(PyArray_DESCR(array), static_cast<int>(extents.size()),
                   extents.data());
}

nb::object numpy_dtype(DType dtype) {
  if (dtype == DType::kBF16) {
    try {
      nb::object type = nb::module_::import_("ml_dtypes").attr("bfloat16");
      return nb::module_::import_("numpy").attr("dtype")(type);
    } catch (nb::python_error&) {
      raise(PyExc_TypeError,
            "NumPy has no bfloat16 of its own: install the package ml_dtypes, "
            "or cast to float32");
    }
  }
  constexpr std::array<int, kDTypeCount> kNumbers = {
      NPY_FLOAT64, NPY_FLOAT32, NPY_FLOAT16, NPY_NOTYPE, NPY_INT64,
      NPY_INT32,   NPY_INT16,   NPY_INT8,    NPY_UINT8,  NPY_BOOL};
  return nb::steal(reinterpret_cast<PyObject*>(
      PyArray_DescrFromType(kNumbers[static_cast<size_t>(dtype)])));
}

DType numpy_dtype_to_dtype(nb::handle dtype) {
  PyArray_Descr* descr = nullptr;
  // NumPy takes None for float64, which here is a mistake.
  if (dtype.is_none())
    raise(PyExc_TypeError, "dtype: expected an element type, got None");
  if (PyArray_DescrConverter(dtype.ptr(), &descr) == NPY_FAIL)
    throw nb::python_error();
  nb::object owner = nb::steal(reinterpret_cast<PyObject*>(descr));
  return require_dtype(descr, "dtype");
}

Tensor to_tensor(nb::handle object, const char* what, bool copy) {
  PyObject* made =
      PyArray_FROM_OF(object.ptr(), NPY_ARRAY_IN_ARRAY | NPY_ARRAY_NOTSWAPPED |
                                        NPY_ARRAY_ENSUREARRAY);
  if (made == nullptr) throw nb::python_error();
  nb::object owner = nb::steal(made);
  auto* array = reinterpret_cast<PyArrayObject*>(made);
  const DType dtype = require_dtype(PyArray_DESCR(array), what);
  Shape shape(std::vector<int64_t>(PyArray_DIMS(array),
                                   PyArray_DIMS(array) + PyArray_NDIM(array)));
  void* data = PyArray_DATA(array);
  if (copy) {
    Tensor tensor = Tensor::empty(std::move(shape), dtype);
    if (tensor.bytes() > 0) std::memcpy(tensor.data(), data, tensor.bytes());
    return tensor;
  }
  std::shared_ptr<void> buffer(data, [kept = share(std::move(owner))](void*) {
    // Any thread may be the last to use it.
  });
  return Tensor::adopt(std::move(buffer), dtype, std::move(shape));
}

nb::object to_array(Tensor tensor) {
  nb::object descr = numpy_dtype(tensor.dtype());
  const auto extents = tensor.shape().extents();
  const std::vector<npy_intp> shape(extents.begin(), extents.end());
  auto* kept = new Tensor(std::move(tensor));
  nb::capsule owner(kept,
                    [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  PyObject* made = PyArray_NewFromDescr(
      &PyArray_Type, reinterpret_cast<PyArray_Descr*>(descr.release().ptr()),
      static_cast<int>(shape.size()), shape.data(), nullptr, kept->data(),
      NPY_ARRAY_CARRAY, nullptr);
  if (made == nullptr) throw nb::python_error();
  nb::object array = nb::steal(made);
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(made),
                            owner.release().ptr()) < 0)
    throw nb::python_error();
  return array;
}

void bind_arrays(nb::module_& m) {
  import_numpy();
  m.def("empty", &empty, nb::arg("shape"), nb::arg("dtype") = "float32",
        "An uninitialised array in memory that ranks on the same host reduce "
        "in place.");
}

}  // namespace rondo::python
