// Saver: the variables of a session in a file, and back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rondo/runtime/session.h"
#include "rondo/train/checkpoint_state.h"

namespace rondo {

struct SaverOptions {
  // Which variables, and under which names; empty: all, under their own.
  std::vector<std::pair<std::string, Value>> variables = {};
  // So many checkpoints are kept, older ones removed; 0: all are kept.
  int max_to_keep = 5;
  // One of those that would be removed is kept every so many hours.
  double keep_checkpoint_every_n_hours = 10000;
  // Takes tensors of other shapes that have as many elements.
  bool reshape = false;
  // "model-00000012", so that names sort by step.
  bool pad_step_number = false;
  std::string name = "save";  // of the scope of its nodes
  // The time, in seconds since 1970; for tests.
  std::function<double()> now = {};
};

struct SaveOptions {
  std::optional<int64_t> global_step = {};  // becomes part of the name
  std::string latest_filename = std::string(kCheckpointStateFile);
  std::string meta_graph_suffix = "meta";
  bool write_meta_graph = true;  // the graph, as load_graph reads it
  bool write_state = true;       // the list of checkpoints
  Cancellation* cancellation = nullptr;
};

// Adds a Save and a Restore node for its variables to the graph when it is
// made; variables of later are not among them. One thread at a time. The graph
// must outlive it; sessions come with each call and must be of that graph.
class RONDO_API Saver {
 public:
  // Throws when there are no variables, or two of one name.
  explicit Saver(Graph& graph, SaverOptions options = {});

  // Writes path[-step].safetensors, path[-step].meta and the list of
  // checkpoints, and removes the oldest of its checkpoints where there are too
  // many. Returns the checkpoint's name, path[-step]. Each file is there whole,
  // or as it was before; the tensors are those of one moment for each variable,
  // also while other threads train.
  Result<std::string> save(Session& session, const std::string& path,
                           const SaveOptions& options = {});
  Result<std::string> save(Session& session, const std::string& path,
                           int64_t global_step) {
    return save(session, path, SaveOptions{.global_step = global_step});
  }
  // Sets all variables to what they are in the checkpoint, or none when
  // anything is wrong with it.
  Status restore(Session& session, const std::string& path,
                 Cancellation* cancellation = nullptr);

  // The checkpoints that may be removed later, and when each was saved; oldest
  // first.
  struct Kept {
    std::string path;
    double time = 0;
  };
  const std::vector<Kept>& last_checkpoints() const { return kept_; }
  void set_last_checkpoints(std::vector<Kept> kept) { kept_ = std::move(kept); }
  // Those of an earlier process, as far as they still exist.
  void recover_last_checkpoints(const std::vector<std::string>& paths);

 private:
  // Takes those that are too many from kept_, and gives those to remove.
  std::vector<Kept> forget_old();
  Status write_state(const std::string& path, const SaveOptions& options) const;

  Graph& graph_;
  SaverOptions options_;
  Value filename_;
  Node* save_ = nullptr;
  Node* restore_ = nullptr;
  double next_preserved_ = 0;  // what is older than this may go
  double last_preserved_ = 0;
  std::vector<Kept> kept_;
};

}  // namespace rondo
