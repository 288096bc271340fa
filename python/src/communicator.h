// PyCommunicator: a communicator as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

#include "rondo/collectives/communicator.h"

namespace nb = nanobind;

namespace rondo::python {

// All with the GIL. Known to a list by which the interpreter's exit closes what
// is still open, so that peers see an orderly end.
class PyCommunicator {
 public:
  explicit PyCommunicator(Communicator comm);
  PyCommunicator(PyCommunicator&& other);
  ~PyCommunicator();

  // The communicator; InvalidArgumentError once closed.
  const Communicator& get() const;
  bool closed() const { return !comm_.valid(); }
  void close();
  static void close_all();

 private:
  Communicator comm_;
};

// Adds the operations, blocking and asynchronous, to the class.
void bind_operations(nb::class_<PyCommunicator>& c);

}  // namespace rondo::python
