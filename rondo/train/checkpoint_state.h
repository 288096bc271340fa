// CheckpointState: which checkpoints a folder has, and which is the latest.
//
// A checkpoint is named by its path without ".safetensors", "model-1000"; its
// graph is "model-1000.meta". The state is a file of the folder, "checkpoint",
// as TensorFlow writes it:
//
//   model_checkpoint_path: "model-1000"
//   all_model_checkpoint_paths: "model-900"
//   all_model_checkpoint_paths: "model-1000"
//   all_model_checkpoint_timestamps: 1700000000.5
//   …
//   last_preserved_timestamp: 1700000000.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

struct CheckpointState {
  std::string model_checkpoint_path;  // the latest
  // Oldest first, and when each was saved, in seconds since 1970.
  std::vector<std::string> all_model_checkpoint_paths;
  std::vector<double> all_model_checkpoint_timestamps;
  double last_preserved_timestamp = 0;
};

inline constexpr std::string_view kCheckpointSuffix = ".safetensors";
inline constexpr std::string_view kCheckpointStateFile = "checkpoint";

// A checkpoint's name from its name or its file, and its file from either.
RONDO_API std::string checkpoint_name(std::string_view path);
RONDO_API std::string checkpoint_file(std::string_view path);
RONDO_API bool checkpoint_exists(std::string_view path);

// Paths in the state file may be relative to the folder; these are not. None
// when there is no such file; an error when it is damaged.
RONDO_API Result<std::optional<CheckpointState>> get_checkpoint_state(
    const std::string& folder,
    std::string_view latest_filename = kCheckpointStateFile);
// Paths within the folder are written relative to it, so that it can be moved.
RONDO_API Status update_checkpoint_state(
    const std::string& folder, const CheckpointState& state,
    std::string_view latest_filename = kCheckpointStateFile);
// The latest checkpoint of a folder, if it has one that is there.
RONDO_API Result<std::optional<std::string>> latest_checkpoint(
    const std::string& folder,
    std::string_view latest_filename = kCheckpointStateFile);

}  // namespace rondo
