#include "rondo/train/event_writer.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include "bindings.h"
#include "graph.h"
#include "program_call.h"

namespace rondo::python {
namespace {

class PyEventWriter {
 public:
  PyEventWriter(const std::string& folder, const EventWriterOptions& options) {
    auto opened = EventWriter::open(folder, options);
    check(opened.status());
    writer_ = std::move(*opened);
  }
  PyEventWriter(PyEventWriter&&) = default;
  ~PyEventWriter() {
    const GilRelease others_run;
    writer_.reset();
  }

  void add_summary(const nb::bytes& summary, int64_t step) {
    const std::string_view bytes(summary.c_str(), summary.size());
    done([&] { return writer_->add_summary(bytes, step); });
  }
  void add_graph(const PyGraph& graph, int64_t step) {
    // With the GIL, so that nobody adds nodes meanwhile.
    check(writer_->add_graph(*graph.graph, step));
  }
  void flush() {
    done([&] { return writer_->flush(); });
  }
  void close() {
    done([&] { return writer_->close(); });
  }
  const std::string& path() const { return writer_->path(); }

 private:
  template <class F>
  void done(F f) {
    Status status;
    {
      const GilRelease others_run;
      status = f();
    }
    check(status);
  }

  std::unique_ptr<EventWriter> writer_;
};

}  // namespace

void bind_event_writer(nb::module_& m) {
  nb::class_<PyEventWriter>(m, "EventWriter",
                            "Writes a file of events that TensorBoard reads.")
      .def(
          "__init__",
          [](PyEventWriter* self, const std::string& folder, int max_queue,
             double flush_secs, std::string suffix) {
            new (self)
                PyEventWriter(folder, {.max_queue = max_queue,
                                       .flush_every = seconds(flush_secs),
                                       .suffix = std::move(suffix)});
          },
          nb::arg("folder"), nb::arg("max_queue") = 10,
          nb::arg("flush_secs") = 120.0, nb::arg("suffix") = "")
      .def("add_summary", &PyEventWriter::add_summary, nb::arg("summary"),
           nb::arg("step"))
      .def("add_graph", &PyEventWriter::add_graph, nb::arg("graph"),
           nb::arg("step") = 0)
      .def("flush", &PyEventWriter::flush,
           "Returns once all that was added is in the file.")
      .def("close", &PyEventWriter::close)
      .def_prop_ro("path", &PyEventWriter::path);
}

}  // namespace rondo::python
