#include "rondo/train/strategy.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "array.h"
#include "bindings.h"
#include "dtype.h"
#include "graph.h"
#include "interrupt.h"
#include "program_call.h"
#include "rondo/graph/origin.h"
#include "session.h"

namespace rondo::python {
namespace {

// Without the GIL, and so that Ctrl-C ends the wait for other ranks.
template <class Make>
Strategy made(Make make) {
  PyInterrupt::before();
  Result<Strategy> result = Strategy::single();
  {
    const GilRelease release;
    result = make();
  }
  PyInterrupt::after();
  check(result.status());
  return std::move(*result);
}

DType wire_of(const std::string& name) {
  const auto dtype = dtype_from_name(name);
  if (dtype) return *dtype;
  throw Error(
      Code::kInvalidArgument,
      fmt::format("wire is \"{}\"; expected \"f32\" or \"bf16\"", name));
}

// RingOptions, by their names in Python. With a share of servers, hybrid.
Strategy ring(double first_bucket_bytes, double bucket_bytes,
              const std::string& wire, const std::string& factors,
              int64_t factor_rows, double link_rate, double flop_rate,
              int accumulate, bool join, bool tune_buckets,
              std::optional<double> server_share) {
  RingOptions options{
      .buckets = {first_bucket_bytes, bucket_bytes, tune_buckets},
      .wire = wire_of(wire),
      .factors = {.use = parse_factor_use(factors).value(),
                  .rows = factor_rows,
                  .link_rate = link_rate,
                  .flop_rate = flop_rate},
      .accumulate = accumulate,
      .join = join};
  if (!server_share) return made([&] { return Strategy::ring(options); });
  HybridOptions hybrid;
  options.group = hybrid.ring.group;
  hybrid = {options, *server_share};
  return made([&] { return Strategy::hybrid(hybrid); });
}

Strategy parameter_server(const std::string& mode, int64_t staleness,
                          int backup, const std::string& wire) {
  constexpr std::pair<std::string_view, KvMode> kModes[] = {
      {"sync", KvMode::kSync},
      {"async", KvMode::kAsync},
      {"ssp", KvMode::kBounded}};
  for (const auto& [name, its] : kModes)
    if (name == mode) {
      const ParameterServerOptions options{.mode = its,
                                           .staleness = staleness,
                                           .backup = backup,
                                           .wire = wire_of(wire)};
      return made([&] { return Strategy::parameter_server(options); });
    }
  throw Error(Code::kInvalidArgument,
              fmt::format("mode is \"{}\"; expected \"sync\", \"async\" or "
                          "\"ssp\"",
                          mode));
}

// Gradients as Python has them: [(values, indices or None, shape or None,
// variable)], and of means [(values, indices or None, shape or None)].
struct GivenGradients {
  explicit GivenGradients(const nb::list& given) {
    for (nb::handle item : given)
      gradients.push_back(
          {Gradient(value_of(item[0]), value_of(item[1]), value_of(item[2])),
           value_of(item[3])});
  }
  nb::object wrap(const Value& value) const {
    return value ? nb::cast(PyValue{graph, value}) : nb::none();
  }
  nb::list wrap(const std::vector<GradientAndVariable>& means) const {
    nb::list list;
    for (const auto& [mean, variable] : means)
      list.append(nb::make_tuple(wrap(mean.values), wrap(mean.indices),
                                 wrap(mean.shape)));
    return list;
  }

  std::vector<GradientAndVariable> gradients;
  std::shared_ptr<Graph> graph;

 private:
  Value value_of(nb::handle item) {
    if (item.is_none()) return {};
    const auto& value = nb::cast<const PyValue&>(item);
    graph = value.graph;
    return value.value;
  }
};

nb::list exchange(const Strategy& self, const nb::list& gradients) {
  const OriginScope line(program_line());
  const GivenGradients given(gradients);
  return given.wrap(self.exchange(given.gradients));
}

// (means while training, means while joining, how many have data)
nb::tuple joint_exchange(const Strategy& self, const nb::list& gradients) {
  const OriginScope line(program_line());
  const GivenGradients given(gradients);
  const JointGradients joint = self.joint_exchange(given.gradients);
  return nb::make_tuple(given.wrap(joint.training), given.wrap(joint.joining),
                        given.wrap(joint.active));
}

// What may wait for other ranks: Ctrl-C ends it.
template <class Call>
void wait_for(Call&& call) {
  PyInterrupt::before();
  Status status;
  {
    const GilRelease release;
    status = call();
  }
  PyInterrupt::after();
  check(status);
}

void check_replicas(const Strategy& self, const std::vector<std::string>& names,
                    const nb::list& arrays) {
  std::vector<Tensor> tensors;
  for (nb::handle array : arrays)
    tensors.push_back(to_tensor(array, "arrays", false));
  wait_for([&] { return self.check_replicas(names, tensors); });
}

}  // namespace

void bind_strategy(nb::module_& m) {
  nb::class_<Strategy>(m, "Strategy", "How the ranks of a job train one model.")
      .def_static("from_env",
                  [] { return made([] { return Strategy::from_env(); }); })
      .def_static("single", &Strategy::single)
      .def_static("ring", &ring, nb::kw_only(), nb::arg("first_bucket_bytes"),
                  nb::arg("bucket_bytes"), nb::arg("wire"), nb::arg("factors"),
                  nb::arg("factor_rows"), nb::arg("link_rate"),
                  nb::arg("flop_rate"), nb::arg("accumulate"), nb::arg("join"),
                  nb::arg("tune_buckets"), nb::arg("server_share").none())
      .def_static("parameter_server", &parameter_server, nb::kw_only(),
                  nb::arg("mode"), nb::arg("staleness"), nb::arg("backup"),
                  nb::arg("wire"))
      .def_prop_ro("name", &Strategy::name)
      .def_prop_ro("rank", &Strategy::rank)
      .def_prop_ro("size", &Strategy::size)
      .def_prop_ro("has_servers", &Strategy::has_servers,
                   "Whether parameter servers make the updates.")
      .def("pause",
           [](const Strategy& self) { wait_for([&] { return self.pause(); }); })
      .def(
          "resume",
          [](const Strategy& self) { wait_for([&] { return self.resume(); }); })
      .def(
          "served",
          [](const Strategy& self, const PyNode& update) {
            const OriginScope line(program_line());
            return PyNode{update.graph, &self.served(*update.node)};
          },
          nb::arg("update"),
          "What runs in place of an update that servers make.")
      .def(
          "pull_slots",
          [](const Strategy& self, const PyGraph& graph) {
            const OriginScope line(program_line());
            return PyNode{graph.graph, &self.pull_slots(*graph.graph)};
          },
          nb::arg("graph"))
      .def("exchange", &exchange, nb::arg("gradients"),
           "The mean of each gradient over all ranks.")
      .def_prop_ro("accumulate", &Strategy::accumulate)
      .def_prop_ro("may_join", &Strategy::may_join)
      .def("joint_exchange", &joint_exchange, nb::arg("gradients"))
      .def(
          "keep_joining",
          [](const Strategy& self, const PyValue& active,
             const PyNode& updates) {
            const OriginScope line(program_line());
            return PyValue{active.graph,
                           self.keep_joining(active.value, *updates.node)};
          },
          nb::arg("active"), nb::arg("updates"))
      .def("explain", &Strategy::explain)
      .def(
          "initializer",
          [](const Strategy& self, const PyGraph& graph) {
            const OriginScope line(program_line());
            return PyNode{graph.graph, &self.initializer(*graph.graph)};
          },
          nb::arg("graph"))
      .def(
          "broadcast",
          [](const Strategy& self, const PyGraph& graph) {
            const OriginScope line(program_line());
            return PyNode{graph.graph, &self.broadcast(*graph.graph)};
          },
          nb::arg("graph"))
      .def("check_replicas", &check_replicas, nb::arg("names"),
           nb::arg("arrays"))
      .def_prop_ro("closed", &Strategy::closed)
      .def(
          "abandon",
          [](Strategy& self, const std::string& why) {
            const GilRelease release;
            self.abandon(why);
          },
          nb::arg("why"))
      .def("close", [](Strategy& self) {
        const GilRelease release;  // it says goodbye to its peers
        self.close();
      });
}

}  // namespace rondo::python
