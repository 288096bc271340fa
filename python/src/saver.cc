#include "rondo/train/saver.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array.h"
#include "attr.h"
#include "bindings.h"
#include "dtype.h"
#include "graph.h"
#include "program_call.h"
#include "rondo/tensor/safetensors.h"
#include "run_interrupt.h"
#include "session.h"

namespace rondo::python {
namespace {

struct PySaver {
  std::shared_ptr<Graph> graph;
  std::unique_ptr<Saver> saver;
};

// Without the GIL, and so that Ctrl-C ends it.
template <class Call>
auto interruptible(Call call) {
  Cancellation cancellation;
  auto result = [&] {
    const GilRelease release;
    const RunInterrupt interrupt(cancellation);
    return call(&cancellation);
  }();
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  return result;
}

std::string save(PySaver& self, PySession& session, const std::string& path,
                 std::optional<int64_t> global_step,
                 const std::string& latest_filename,
                 const std::string& meta_graph_suffix, bool write_meta_graph,
                 bool write_state) {
  auto name = interruptible([&](Cancellation* cancellation) {
    return self.saver->save(*session.session, path,
                            {.global_step = global_step,
                             .latest_filename = latest_filename,
                             .meta_graph_suffix = meta_graph_suffix,
                             .write_meta_graph = write_meta_graph,
                             .write_state = write_state,
                             .cancellation = cancellation});
  });
  check(name.status());
  return *name;
}

void restore(PySaver& self, PySession& session, const std::string& path) {
  check(interruptible([&](Cancellation* cancellation) {
    return self.saver->restore(*session.session, path, cancellation);
  }));
}

using Times = std::vector<std::pair<std::string, double>>;

Times last_checkpoints(const PySaver& self) {
  Times list;
  for (const auto& kept : self.saver->last_checkpoints())
    list.emplace_back(kept.path, kept.time);
  return list;
}

void set_last_checkpoints(PySaver& self, const Times& list) {
  std::vector<Saver::Kept> kept;
  for (const auto& [path, time] : list) kept.push_back({path, time});
  self.saver->set_last_checkpoints(std::move(kept));
}

// (latest, all, their times, when the last was preserved), or None.
nb::object checkpoint_state(const std::string& folder,
                            const std::string& latest_filename) {
  auto state = [&] {
    const GilRelease others_run;
    return get_checkpoint_state(folder, latest_filename);
  }();
  check(state.status());
  if (!*state) return nb::none();
  return nb::make_tuple((*state)->model_checkpoint_path,
                        (*state)->all_model_checkpoint_paths,
                        (*state)->all_model_checkpoint_timestamps,
                        (*state)->last_preserved_timestamp);
}

// [(name, dtype or the file's name of it, shape)].
nb::list tensors_in(const std::string& path) {
  auto file = [&] {
    const GilRelease others_run;
    return SafetensorsFile::open(path);
  }();
  check(file.status());
  nb::list list;
  for (const SafetensorsEntry& entry : file->entries()) {
    nb::object dtype = entry.dtype ? from_dtype(*entry.dtype)
                                   : nb::object(nb::str(entry.type.c_str()));
    list.append(nb::make_tuple(entry.name, dtype, from_shape(entry.shape)));
  }
  return list;
}

nb::object tensor_in(const std::string& path, const std::string& name) {
  auto read = [&]() -> Result<Tensor> {
    const GilRelease others_run;
    RONDO_ASSIGN_OR_RETURN(const auto file, SafetensorsFile::open(path));
    return file.read(name);
  }();
  check(read.status());
  return to_array(std::move(*read));
}

void make_saver(PySaver* self, const PyGraph& graph,
                const std::vector<std::pair<std::string, PyValue>>& variables,
                int max_to_keep, double keep_checkpoint_every_n_hours,
                bool reshape, bool pad_step_number, const std::string& name) {
  SaverOptions options{
      .max_to_keep = max_to_keep,
      .keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours,
      .reshape = reshape,
      .pad_step_number = pad_step_number,
      .name = name};
  for (const auto& [as, value] : variables)
    options.variables.emplace_back(as, value.value);
  auto made = std::make_unique<Saver>(*graph.graph, std::move(options));
  new (self) PySaver{graph.graph, std::move(made)};
}

}  // namespace

void bind_saver(nb::module_& m) {
  nb::class_<PySaver>(m, "Saver", "Variables in a file, and back.")
      .def("__init__", &make_saver, nb::arg("graph"), nb::arg("variables"),
           nb::kw_only(), nb::arg("max_to_keep") = 5,
           nb::arg("keep_checkpoint_every_n_hours") = 10000.0,
           nb::arg("reshape") = false, nb::arg("pad_step_number") = false,
           nb::arg("name") = "save")
      .def("save", &save, nb::arg("session"), nb::arg("path"),
           nb::arg("global_step").none(), nb::arg("latest_filename"),
           nb::arg("meta_graph_suffix"), nb::arg("write_meta_graph"),
           nb::arg("write_state"), "The checkpoint's name.")
      .def("restore", &restore, nb::arg("session"), nb::arg("path"))
      .def_prop_rw("last_checkpoints", &last_checkpoints, &set_last_checkpoints,
                   "[(path, time)], oldest first.")
      .def(
          "recover_last_checkpoints",
          [](PySaver& self, const std::vector<std::string>& paths) {
            self.saver->recover_last_checkpoints(paths);
          },
          nb::arg("paths"));
  m.def("checkpoint_state", &checkpoint_state, nb::arg("folder"),
        nb::arg("latest_filename") = std::string(kCheckpointStateFile));
  m.def(
      "update_checkpoint_state",
      [](const std::string& folder, const std::string& latest,
         const std::vector<std::string>& all, const std::vector<double>& times,
         double preserved, const std::string& latest_filename) {
        check([&] {
          const GilRelease others_run;  // the file is synced
          return update_checkpoint_state(
              folder, {latest, all, times, preserved}, latest_filename);
        }());
      },
      nb::arg("folder"), nb::arg("latest"), nb::arg("all"), nb::arg("times"),
      nb::arg("preserved"), nb::arg("latest_filename"));
  m.def(
      "checkpoint_file",
      [](const std::string& path) { return checkpoint_file(path); },
      nb::arg("path"), "The file of a checkpoint.");
  m.def("tensors_in", &tensors_in, nb::arg("path"),
        "[(name, dtype, shape)] of a safetensors file.");
  m.def("tensor_in", &tensor_in, nb::arg("path"), nb::arg("name"),
        "One tensor of a safetensors file.");
}

}  // namespace rondo::python
