#include "rondo/trainer/config_file.h"

#include <cerrno>
#include <fstream>
#include <iterator>

namespace rondo {
namespace {

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  const size_t last = text.find_last_not_of(" \t\r");
  return std::string(text.substr(first, last - first + 1));
}

}  // namespace

Result<ConfigLines> parse_config(std::string_view text) {
  ConfigLines lines;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string line = trimmed(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    std::string name = trimmed(std::string_view(line).substr(0, equals));
    if (equals == std::string::npos || name.empty())
      return error(Code::kInvalidArgument,
                   "line {}: \"{}\": expected name = value", number, line);
    lines.emplace_back(std::move(name),
                       trimmed(std::string_view(line).substr(equals + 1)));
  }
  return lines;
}

Result<ConfigLines> read_config_file(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return errno_error(Code::kInvalidArgument, errno,
                       fmt::format("--config {}", path));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  auto lines = parse_config(text);
  if (!lines.ok())
    return lines.status().with_context(fmt::format("--config {}", path));
  return lines;
}

}  // namespace rondo
