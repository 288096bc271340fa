#include "communicator.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <set>

#include "bindings.h"
#include "interrupt.h"
#include "program_call.h"
#include "store.h"
#include "user_operator.h"

namespace rondo::python {
namespace {

// Guarded by the GIL.
std::set<PyCommunicator*>& open_communicators() {
  static auto* all = new std::set<PyCommunicator*>;
  return *all;
}

// Keyword arguments over what `options` has: the members' names.
void apply(const nb::kwargs& given, CommunicatorOptions& options) {
  for (auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    auto set = [&, v = value](auto& member) {
      if (!nb::try_cast(v, member))
        throw nb::type_error(fmt::format("{}: a value of type {} does not fit",
                                         name, Py_TYPE(v.ptr())->tp_name)
                                 .c_str());
    };
    if (value.is_none()) continue;
    if (name == "connect_timeout")
      set(options.connect_timeout);
    else if (name == "timeout")
      set(options.timeout);
    else if (name == "total_timeout")
      set(options.total_timeout);
    else if (name == "transport")
      set(options.transport);
    else if (name == "algorithm")
      set(options.algorithm);
    else if (name == "interface")
      set(options.interface);
    else if (name == "port_range")
      set(options.port_range);
    else if (name == "token")
      set(options.token);
    else if (name == "tcp_streams")
      set(options.tcp_streams);
    else if (name == "remote_memory")
      set(options.remote_memory);
    else if (name == "tuning_file")
      set(options.tuning_file);
    else if (name == "name")
      set(options.name);
    else
      throw nb::type_error(
          fmt::format("there is no option {}; there are connect_timeout, "
                      "timeout, total_timeout, transport, algorithm, "
                      "interface, port_range, token, tcp_streams, "
                      "remote_memory, tuning_file, name",
                      name)
              .c_str());
  }
}

// Runs make() without the GIL.
template <class Make>
Communicator made(Make make) {
  PyInterrupt::before();
  Result<Communicator> result = Communicator();
  {
    const GilRelease release;
    result = make();
  }
  if (PyInterrupt::raised() && result.ok()) {
    const GilRelease release;  // it says goodbye to its peers
    *result = Communicator();
  }
  PyInterrupt::after();
  check(result.status());
  return std::move(*result);
}

PyCommunicator world(const nb::kwargs& given) {
  auto options = CommunicatorOptions::from_env(Env::process());
  check(options.status());
  apply(given, *options);
  return PyCommunicator(made([&] { return Communicator::world(*options); }));
}

PyCommunicator connect(nb::handle store, int rank, int size,
                       const nb::kwargs& given) {
  CommunicatorOptions options;
  apply(given, options);
  auto native = as_store(store);
  return PyCommunicator(made([&] {
    return Communicator::connect(std::move(native), rank, size, options);
  }));
}

std::optional<PyCommunicator> split(const PyCommunicator& self, int color,
                                    int key) {
  Communicator parent = self.get();
  Communicator part = made([&] {
    auto result = parent.split(color, key);
    parent = Communicator();
    return result;
  });
  if (!part.valid()) return std::nullopt;
  return PyCommunicator(std::move(part));
}

std::string describe(const PyCommunicator& self) {
  if (self.closed()) return "<rondo.Communicator, closed>";
  return fmt::format("<rondo.Communicator {}: rank {} of {}>",
                     self.get().name(), self.get().rank(), self.get().size());
}

nb::dict traffic(const PyCommunicator& self) {
  const Traffic t = self.get().traffic();
  nb::dict result;
  result["bytes_sent"] = t.bytes_sent;
  result["bytes_received"] = t.bytes_received;
  result["messages_sent"] = t.messages_sent;
  return result;
}

}  // namespace

PyCommunicator::PyCommunicator(Communicator comm) : comm_(std::move(comm)) {
  open_communicators().insert(this);
}

PyCommunicator::PyCommunicator(PyCommunicator&& other)
    : PyCommunicator(std::exchange(other.comm_, Communicator())) {}

PyCommunicator::~PyCommunicator() {
  open_communicators().erase(this);
  close();
}

const Communicator& PyCommunicator::get() const {
  if (closed())
    check(error(Code::kInvalidArgument, "this communicator is closed"));
  return comm_;
}

void PyCommunicator::close() {
  if (closed()) return;
  Communicator last = std::exchange(comm_, Communicator());
  const NoInterrupt calm;
  const GilRelease release;  // it says goodbye to its peers
  last = Communicator();
}

void PyCommunicator::close_all() {
  stop_calling_python();
  // Closing lets other threads run, which may close some as well.
  while (true) {
    auto& all = open_communicators();
    auto it = std::find_if(all.begin(), all.end(),
                           [](PyCommunicator* c) { return !c->closed(); });
    if (it == all.end()) return;
    (*it)->close();
  }
}

void bind_communicator(nb::module_& m) {
  nb::class_<PyCommunicator> c(m, "Communicator",
                               "A group of ranks that communicate together.");
  c.def_static("world", &world, nb::arg("options"),
               "The communicator of all ranks of this job. Keyword arguments "
               "override the environment.")
      .def_static("connect", &connect, nb::arg("store"), nb::arg("rank"),
                  nb::arg("size"), nb::arg("options"),
                  "Rank `rank` of `size` that find each other through `store`.")
      .def_prop_ro("rank",
                   [](const PyCommunicator& s) { return s.get().rank(); })
      .def_prop_ro("size",
                   [](const PyCommunicator& s) { return s.get().size(); })
      .def_prop_ro("name",
                   [](const PyCommunicator& s) { return s.get().name(); })
      .def_prop_ro("closed", &PyCommunicator::closed)
      .def("split", &split, nb::arg("color"), nb::arg("key") = 0,
           "The ranks that gave the same color, ordered by (key, rank); None "
           "for a negative color. Collective.")
      .def(
          "transport_to",
          [](const PyCommunicator& s, int peer) {
            if (peer < 0 || peer >= s.get().size())
              check(error(Code::kInvalidArgument, "there is no rank {}", peer));
            return s.get().transport_to(peer);
          },
          nb::arg("peer"), "How this rank reaches another.")
      .def(
          "algorithm_for",
          [](const PyCommunicator& s, int64_t count, const std::string& name) {
            const auto dtype = dtype_from_name(name);
            if (!dtype)
              check(
                  error(Code::kInvalidArgument, "there is no dtype {}", name));
            return s.get().algorithm_for(count, *dtype);
          },
          nb::arg("count"), nb::arg("dtype") = "f32",
          "The algorithm that an allreduce of so many elements would use.")
      .def("traffic", &traffic, "What travelled so far, payload only.")
      .def(
          "abort",
          [](const PyCommunicator& s, const std::string& reason) {
            Communicator comm = s.get();
            const GilRelease release;
            comm.abort(reason);
            comm = Communicator();
          },
          nb::arg("reason"), "Ends the communicator on every rank.")
      .def("close", &PyCommunicator::close,
           "Closes it here, once its operations are over.")
      .def("__enter__", [](nb::object self) { return self; })
      .def("__exit__", [](PyCommunicator& s, const nb::args&) { s.close(); })
      .def("__repr__", &describe);
  bind_operations(c);
  m.def("_close_all", &PyCommunicator::close_all);
}

}  // namespace rondo::python
