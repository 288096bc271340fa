#include "rondo/train/checkpoint_state.h"

#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "rondo/base/new_file.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLatest = "model_checkpoint_path";
constexpr std::string_view kAll = "all_model_checkpoint_paths";
constexpr std::string_view kTimes = "all_model_checkpoint_timestamps";
constexpr std::string_view kPreserved = "last_preserved_timestamp";

// As protobuf writes text: bytes that are no plain characters in octal.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (byte < 0x20 || byte >= 0x7F)
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out + '"';
}

// The other way; nothing when it is no quoted text.
std::optional<std::string> without_quotes(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"')
    return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') return std::nullopt;
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] < '0' || text[i] > '7') {
      out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
      continue;
    }
    int byte = 0;
    size_t digits = 0;
    for (; digits < 3 && i + digits < text.size() && text[i + digits] >= '0' &&
           text[i + digits] <= '7';
         ++digits)
      byte = byte * 8 + (text[i + digits] - '0');
    out += static_cast<char>(byte);
    i += digits - 1;
  }
  return out;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [at, err] = std::from_chars(text.data(), end, value);
  if (err != std::errc() || at != end) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Takes a line in; false when it is none of this file's.
bool take_line(std::string_view line, const fs::path& folder,
               CheckpointState& state) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = trimmed(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (key == kLatest || key == kAll) {
    const auto path = without_quotes(value);
    if (!path || path->empty()) return false;
    const std::string whole =
        fs::path(*path).is_absolute() ? *path : (folder / *path).string();
    if (key == kLatest)
      state.model_checkpoint_path = whole;
    else
      state.all_model_checkpoint_paths.push_back(whole);
    return true;
  }
  const auto time = number(value);
  if (!time) return false;
  if (key == kTimes)
    state.all_model_checkpoint_timestamps.push_back(*time);
  else if (key == kPreserved)
    state.last_preserved_timestamp = *time;
  return true;  // what a later version has besides does not matter
}

std::string relative_to(const fs::path& folder, const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  std::error_code ignored;
  const bool within =
      parent == folder ||
      fs::weakly_canonical(parent.empty() ? "." : parent, ignored) ==
          fs::weakly_canonical(folder.empty() ? "." : folder, ignored);
  return within ? fs::path(path).filename().string()
                : fs::absolute(path).string();
}

}  // namespace

std::string checkpoint_name(std::string_view path) {
  if (path.ends_with(kCheckpointSuffix))
    path.remove_suffix(kCheckpointSuffix.size());
  return std::string(path);
}

std::string checkpoint_file(std::string_view path) {
  return checkpoint_name(path) + std::string(kCheckpointSuffix);
}

bool checkpoint_exists(std::string_view path) {
  return ::access(checkpoint_file(path).c_str(), F_OK) == 0;
}

Result<std::optional<CheckpointState>> get_checkpoint_state(
    const std::string& folder, std::string_view latest_filename) {
  const fs::path path = fs::path(folder) / latest_filename;
  std::error_code err;
  if (!fs::exists(path, err)) return std::optional<CheckpointState>();
  std::ifstream file(path, std::ios::binary);
  CheckpointState state;
  std::string line;
  for (int row = 1; std::getline(file, line); ++row) {
    const std::string_view text = trimmed(line);
    if (!text.empty() && !take_line(text, folder, state))
      return error(Code::kInvalidArgument,
                   "{} is no whole list of checkpoints: line {} is \"{}\"",
                   path.string(), row, text.substr(0, 80));
  }
  if (!file.eof())
    return error(Code::kInvalidArgument,
                 "cannot read the list of checkpoints {}; is it a file that this "
                 "user may read?",
                 path.string());
  if (state.model_checkpoint_path.empty())
    return error(Code::kInvalidArgument,
                 "{} is no whole list of checkpoints: it names none as the "
                 "latest",
                 path.string());
  return std::optional(std::move(state));
}

Status update_checkpoint_state(const std::string& folder,
                               const CheckpointState& state,
                               std::string_view latest_filename) {
  std::string text =
      fmt::format("{}: {}\n", kLatest,
                  in_quotes(relative_to(folder, state.model_checkpoint_path)));
  for (const std::string& path : state.all_model_checkpoint_paths)
    text += fmt::format("{}: {}\n", kAll, in_quotes(relative_to(folder, path)));
  for (const double time : state.all_model_checkpoint_timestamps)
    text += fmt::format("{}: {}\n", kTimes, time);
  if (state.last_preserved_timestamp > 0)
    text += fmt::format("{}: {}\n", kPreserved, state.last_preserved_timestamp);
  NewFile file((fs::path(folder) / latest_filename).string());
  RONDO_RETURN_IF_ERROR(file.write(text.data(), text.size()));
  return file.commit();
}

Result<std::optional<std::string>> latest_checkpoint(
    const std::string& folder, std::string_view latest_filename) {
  RONDO_ASSIGN_OR_RETURN(const auto state,
                         get_checkpoint_state(folder, latest_filename));
  if (!state || !checkpoint_exists(state->model_checkpoint_path))
    return std::optional<std::string>();
  return std::optional(state->model_checkpoint_path);
}

}  // namespace rondo
