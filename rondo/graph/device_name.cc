#include "rondo/graph/device_name.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace rondo {
namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, err] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (err != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return out;
}

Status bad(std::string_view text) {
  return error(Code::kInvalidArgument,
               "\"{}\" is not a device: expected something like /cpu:0, "
               "/job:ps/task:1 or /job:worker/task:0/gpu:1",
               text);
}

// One part without its slash, such as "task:1" or "cpu:0".
bool read_part(std::string_view part, DeviceName& name) {
  const size_t colon = part.find(':');
  std::string key = lower(part.substr(0, colon));
  std::string_view rest =
      colon == std::string_view::npos ? "" : part.substr(colon + 1);
  if (key == "job") {
    name.job = std::string(rest);
    return !rest.empty();
  }
  if (key == "task") {
    name.task = number(rest);
    return name.task.has_value();
  }
  if (key == "replica") return number(rest).has_value();
  if (key == "device") {
    const size_t next = rest.find(':');
    key = lower(rest.substr(0, next));
    rest = next == std::string_view::npos ? "" : rest.substr(next + 1);
  }
  if (key != "cpu" && key != "gpu") return false;
  name.type = key;
  if (rest.empty() || rest == "*") return true;
  name.index = number(rest);
  return name.index.has_value();
}

}  // namespace

Result<DeviceName> DeviceName::parse(std::string_view text) {
  DeviceName name;
  std::string_view left = text;
  while (!left.empty()) {
    if (left.front() != '/') return bad(text);
    left.remove_prefix(1);
    const size_t end = std::min(left.find('/'), left.size());
    if (!read_part(left.substr(0, end), name)) return bad(text);
    left.remove_prefix(end);
  }
  return name;
}

std::string DeviceName::to_string() const {
  std::string text;
  if (job) text += "/job:" + *job;
  if (task) text += fmt::format("/task:{}", *task);
  if (type) text += "/" + *type;
  if (type && index) text += fmt::format(":{}", *index);
  return text;
}

DeviceName DeviceName::refined_by(const DeviceName& inner) const {
  DeviceName both = *this;
  if (inner.job) both.job = inner.job;
  if (inner.task) both.task = inner.task;
  if (inner.type) {
    both.type = inner.type;
    both.index = inner.index;
  }
  return both;
}

bool DeviceName::matches(const DeviceName& full) const {
  return (!job || job == full.job) && (!task || task == full.task) &&
         (!type || type == full.type) && (!index || index == full.index);
}

}  // namespace rondo
