#include "rondo/train/saver.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "rondo/base/log.h"
#include "rondo/graph/device_name.h"
#include "rondo/graph/graph_io.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/io.h"
#include "rondo/graph/ops/state.h"

namespace rondo {
namespace {

constexpr double kHour = 3600;

double system_now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    log(LogLevel::kWarning, "cannot remove the old checkpoint {}: {}", path,
        std::strerror(errno));
}

Status check_path(const std::string& path, const SaveOptions& options) {
  if (path.empty() || path.ends_with('/'))
    return error(Code::kInvalidArgument,
                 "\"{}\" is no name for a checkpoint: expected a path such as "
                 "folder/model",
                 path);
  if (options.write_state &&
      (options.latest_filename.empty() ||
       options.latest_filename.find('/') != std::string::npos))
    return error(Code::kInvalidArgument,
                 "latest_filename: \"{}\" must be a name without folders",
                 options.latest_filename);
  return {};
}

// Sets all variables at once, as far as one node can: those of each task, and
// of each container there, by one.
Node& assign_each(const std::vector<Value>& variables,
                  const std::vector<Value>& values) {
  struct Part {
    std::vector<Value> variables, values;
  };
  std::map<std::pair<std::string, std::string>, Part> parts;
  for (size_t i = 0; i < variables.size(); ++i) {
    DeviceName task = DeviceName::parse(variables[i].node->device()).value();
    task.type.reset();
    task.index.reset();
    Part& part = parts[{task.to_string(), container_of(variables[i])}];
    part.variables.push_back(variables[i]);
    part.values.push_back(values[i]);
  }
  std::vector<Node*> nodes;
  for (const auto& [place, part] : parts)
    nodes.push_back(&assign_all(part.variables, part.values));
  return nodes.size() == 1 ? *nodes[0] : group(nodes[0]->graph(), nodes);
}

}  // namespace

Saver::Saver(Graph& graph, SaverOptions options)
    : graph_(graph), options_(std::move(options)) {
  if (!options_.now) options_.now = system_now;
  if (options_.max_to_keep < 0)
    throw Error(Code::kInvalidArgument,
                fmt::format("Saver: max_to_keep is {}; 0 keeps all",
                            options_.max_to_keep));
  next_preserved_ =
      options_.now() + options_.keep_checkpoint_every_n_hours * kHour;
  auto& variables = options_.variables;
  if (variables.empty())
    for (const Value& variable : graph.collection(kVariables))
      variables.emplace_back(variable_name(variable), variable);
  if (variables.empty())
    throw Error(Code::kInvalidArgument,
                "Saver: the graph has no variables to save");
  std::vector<std::string> names;
  std::vector<Value> values;
  RestoreOptions types{.reshape = options_.reshape};
  std::set<std::string_view> seen;
  for (const auto& [name, variable] : variables) {
    (void)variable_name(variable);  // throws for anything else
    if (!seen.insert(name).second)
      throw Error(Code::kInvalidArgument,
                  fmt::format("Saver: two variables have the name \"{}\"; give "
                              "names of your own",
                              name));
    names.push_back(name);
    values.push_back(variable);
    types.dtypes.push_back(variable.dtype());
    types.shapes.push_back(variable.shape());
  }
  const NameScope scope(graph, options_.name);
  const ControlScope alone(graph, {}, true);
  filename_ = placeholder(
      graph, {.dtype = DType::kU8, .shape = {kAny}, .name = "filename"});
  save_ = &rondo::save(filename_, names, values);
  const auto restored = rondo::restore(filename_, names, std::move(types));
  restore_ = &assign_each(values, restored);
}

Result<std::string> Saver::save(Session& session, const std::string& path,
                                const SaveOptions& options) {
  std::string name = checkpoint_name(path);
  RONDO_RETURN_IF_ERROR(check_path(name, options));
  if (options.global_step)
    name += options_.pad_step_number
                ? fmt::format("-{:08}", *options.global_step)
                : fmt::format("-{}", *options.global_step);
  const Tensor file = text_tensor(checkpoint_file(name));
  RONDO_RETURN_IF_ERROR(session
                            .run({}, {{filename_, file}}, {save_},
                                 {.cancellation = options.cancellation})
                            .status());
  if (options.write_meta_graph) try {
      save_graph(graph_, name + "." + options.meta_graph_suffix);
    } catch (const Error& e) {
      return Status(e.code(), e.what());
    }
  if (!options.write_state) return name;
  const std::vector<Kept> before = kept_;
  std::erase_if(kept_, [&](const Kept& kept) { return kept.path == name; });
  kept_.push_back({name, options_.now()});
  const std::vector<Kept> old = forget_old();
  // First the list, then the files: a list never names what is gone.
  if (Status status = write_state(name, options); !status.ok()) {
    kept_ = before;
    return status;
  }
  for (const Kept& kept : old) {
    remove_file(checkpoint_file(kept.path));
    remove_file(kept.path + "." + options.meta_graph_suffix);
  }
  return name;
}

std::vector<Saver::Kept> Saver::forget_old() {
  std::vector<Kept> old;
  if (options_.max_to_keep == 0) return old;
  while (kept_.size() > static_cast<size_t>(options_.max_to_keep)) {
    const Kept oldest = kept_.front();
    kept_.erase(kept_.begin());
    if (oldest.time > next_preserved_) {
      next_preserved_ += options_.keep_checkpoint_every_n_hours * kHour;
      last_preserved_ = oldest.time;
    } else {
      old.push_back(oldest);
    }
  }
  return old;
}

Status Saver::write_state(const std::string& path,
                          const SaveOptions& options) const {
  CheckpointState state{.model_checkpoint_path = path,
                        .last_preserved_timestamp = last_preserved_};
  for (const Kept& kept : kept_) {
    state.all_model_checkpoint_paths.push_back(kept.path);
    state.all_model_checkpoint_timestamps.push_back(kept.time);
  }
  return update_checkpoint_state(
      std::filesystem::path(path).parent_path().string(), state,
      options.latest_filename);
}

Status Saver::restore(Session& session, const std::string& path,
                      Cancellation* cancellation) {
  const std::string file = checkpoint_file(path);
  if (!checkpoint_exists(path))
    return error(Code::kInvalidArgument,
                 "there is no checkpoint {}: {} does not exist", path, file);
  return session
      .run({}, {{filename_, text_tensor(file)}}, {restore_},
           {.cancellation = cancellation})
      .status();
}

void Saver::recover_last_checkpoints(const std::vector<std::string>& paths) {
  kept_.clear();
  for (const std::string& path : paths) {
    struct stat info {};
    if (::stat(checkpoint_file(path).c_str(), &info) == 0)
      kept_.push_back({checkpoint_name(path),
                       static_cast<double>(info.st_mtim.tv_sec) +
                           static_cast<double>(info.st_mtim.tv_nsec) * 1e-9});
  }
}

}  // namespace rondo
