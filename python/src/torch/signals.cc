#include "signals.h"

#include <Python.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

namespace rondo::torch {
namespace {

bool on_main_thread() {
  return gettid() == getpid() && Py_IsInitialized() != 0;
}

// With the error left in Python's place for it.
bool signalled() {
  pybind11::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

[[noreturn]] void throw_error() {
  pybind11::gil_scoped_acquire gil;
  throw pybind11::error_already_set();
}

}  // namespace

void throw_if_signalled() {
  if (on_main_thread() && signalled()) throw_error();
}

struct WithoutPython::State {
  pybind11::gil_scoped_release release;
};

WithoutPython::WithoutPython()
    : state_(Py_IsInitialized() != 0 && PyGILState_Check() != 0
                 ? std::make_unique<State>()
                 : nullptr) {}
WithoutPython::~WithoutPython() = default;

bool SignalInterrupt::ask() {
  if (!raised_) raised_ = on_main_thread() && signalled();
  return raised_;
}

void SignalInterrupt::after() {
  if (raised_) throw_error();
}

}  // namespace rondo::torch
