// PyWork: an operation under way, and the Python objects that it uses.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "rondo/collectives/communicator.h"
#include "user_operator.h"

namespace nb = nanobind;

namespace rondo::python {

// Arrays stay as long as the operation uses them, even when the program drops
// its Work.
class PyWork {
 public:
  PyWork(Work work, nb::object result, std::vector<nb::object> used,
         std::shared_ptr<UserOperator> user);
  ~PyWork();
  PyWork(PyWork&&) = default;

  // The result, once the operation is over. Ctrl-C is noticed.
  nb::object wait(std::optional<double> timeout);
  bool test() const { return work_.test(); }
  void cancel();
  nb::object error() const;

 private:
  Work work_;
  nb::object result_;
  std::vector<nb::object> used_;
  std::shared_ptr<UserOperator> user_;
};

}  // namespace rondo::python
