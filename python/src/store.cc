#include "store.h"

#include <nanobind/stl/string.h>

#include "bindings.h"
#include "interrupt.h"
#include "program_call.h"
#include "rondo/rendezvous/job_env.h"

namespace rondo::python {
namespace {

nb::bytes to_bytes(std::string_view text) {
  return nb::bytes(text.data(), text.size());
}
std::string_view from_bytes(const nb::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}

// A store of Rondo's own.
struct NativeStore {
  std::shared_ptr<Store> store;
  NativeStore(NativeStore&&) = default;
  explicit NativeStore(std::shared_ptr<Store> s) : store(std::move(s)) {}
  ~NativeStore() {
    const NoInterrupt calm;
    const GilRelease release;  // a server waits for its clients
    store.reset();
  }

  void set(const std::string& key, const nb::bytes& value) {
    check(waiting([&] { return store->set(key, from_bytes(value)); }));
  }
  nb::bytes get(const std::string& key, double timeout) {
    const Result<std::string> value =
        waiting([&] { return store->get(key, Deadline(seconds(timeout))); });
    check(value.status());
    return to_bytes(*value);
  }
  int64_t add(const std::string& key, int64_t amount) {
    return waiting([&] { return store->add(key, amount); }).value();
  }
  void remove(const std::string& key) {
    waiting([&] { return store->remove(key); }).value();
  }
  std::string name() const { return store->name(); }
};
struct MemoryStore : NativeStore {
  MemoryStore() : NativeStore(make_memory_store()) {}
};
struct FileStore : NativeStore {
  explicit FileStore(const std::string& folder)
      : NativeStore(waiting([&] { return open_file_store(folder); }).value()) {}
};
struct TcpStore : NativeStore {
  TcpStore(const std::string& url, int rank, const std::string& token,
           double timeout)
      : NativeStore(open(url, rank, token, timeout)) {}
  static std::shared_ptr<Store> open(const std::string& url, int rank,
                                     const std::string& token, double timeout) {
    JobEnv job;
    job.rank = rank;
    job.store = url;
    job.token = token;
    return waiting([&] { return open_store(job, Deadline(seconds(timeout))); })
        .value();
  }
};

// What a method of a Python store raised.
Status raised(const nb::python_error& e, const std::string& name) {
  Code code = Code::kUnavailable;
  if (nb::hasattr(e.value(), "code")) {
    int number = 0;
    if (nb::try_cast(e.value().attr("code"), number) && number >= 1 &&
        number <= static_cast<int>(Code::kOutOfRange))
      code = static_cast<Code>(number);
  } else if (e.matches(PyExc_TimeoutError)) {
    code = Code::kTimeout;
  }
  return error(code, "store {}: {}: {}", name, nb::str(e.type()).c_str(),
               nb::str(e.value()).c_str());
}

// An object of the program's with the methods of a store.
class ForeignStore : public Store {
 public:
  explicit ForeignStore(nb::object object)
      : object_(std::move(object)),
        name_(nb::inst_name(object_.type()).c_str()) {}
  ~ForeignStore() override {
    if (!nb::is_alive()) {
      (void)object_.release();
      return;
    }
    nb::gil_scoped_acquire gil;
    object_.reset();
  }

  Status set(const std::string& key, std::string_view value) override {
    return call([&] { object_.attr("set")(key, to_bytes(value)); });
  }
  Result<std::string> get(const std::string& key, Deadline deadline) override {
    std::string value;
    RONDO_RETURN_IF_ERROR(call([&] {
      nb::object got = object_.attr("get")(key, to_seconds(deadline.left()));
      value = from_bytes(nb::bytes(got));
    }));
    return value;
  }
  Result<int64_t> add(const std::string& key, int64_t amount) override {
    int64_t value = 0;
    RONDO_RETURN_IF_ERROR(call(
        [&] { value = nb::cast<int64_t>(object_.attr("add")(key, amount)); }));
    return value;
  }
  Status remove(const std::string& key) override {
    return call([&] { object_.attr("remove")(key); });
  }
  std::string name() const override { return name_; }

 private:
  template <class Body>
  Status call(Body body) {
    nb::gil_scoped_acquire gil;
    try {
      body();
      return {};
    } catch (nb::python_error& e) {
      const Status status = raised(e, name_);
      if (!e.matches(PyExc_Exception)) PyInterrupt::keep(e);
      return status;
    } catch (const nb::cast_error&) {
      return error(Code::kInvalidArgument, "store {}: add must return an int",
                   name_);
    }
  }

  nb::object object_;
  std::string name_;
};

}  // namespace

std::shared_ptr<Store> as_store(nb::handle object) {
  NativeStore* native = nullptr;
  if (nb::try_cast(object, native) && native != nullptr) return native->store;
  for (const char* method : {"set", "get", "add", "remove"})
    if (!nb::hasattr(object, method))
      throw nb::type_error(
          fmt::format("store: {} has no method {}; a store has set, get, add "
                      "and remove (rondo.Store)",
                      Py_TYPE(object.ptr())->tp_name, method)
              .c_str());
  return std::make_shared<ForeignStore>(nb::borrow(object));
}

void bind_stores(nb::module_& m) {
  nb::class_<NativeStore>(m, "NativeStore", "A store of Rondo's own.")
      .def("set", &NativeStore::set, nb::arg("key"), nb::arg("value"),
           "Writes a key.")
      .def("get", &NativeStore::get, nb::arg("key"), nb::arg("timeout") = 120.0,
           "The key's value, waited for.")
      .def("add", &NativeStore::add, nb::arg("key"), nb::arg("amount"),
           "Adds to a counter that starts at 0; the new value.")
      .def("remove", &NativeStore::remove, nb::arg("key"), "Removes a key.")
      .def_prop_ro("name", &NativeStore::name);
  nb::class_<MemoryStore, NativeStore>(
      m, "MemoryStore", "Within one process: ranks as threads share it.")
      .def(nb::init<>());
  nb::class_<FileStore, NativeStore>(
      m, "FileStore", "A folder that all ranks see, for one job.")
      .def(nb::init<const std::string&>(), nb::arg("folder"));
  nb::class_<TcpStore, NativeStore>(
      m, "TcpStore",
      "\"tcp://host:port\"; rank 0 serves it when nobody else does.")
      .def(nb::init<const std::string&, int, const std::string&, double>(),
           nb::arg("url"), nb::arg("rank"), nb::kw_only(),
           nb::arg("token") = "", nb::arg("timeout") = 120.0);
}

}  // namespace rondo::python
