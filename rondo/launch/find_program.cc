#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "rondo/launch/process.h"

namespace rondo {
namespace {

bool is_file(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_executable(const std::string& path) {
  return is_file(path) && access(path.c_str(), X_OK) == 0;
}

std::string below(const std::string& directory, const std::string& path) {
  if (directory.empty() || path.starts_with('/')) return path;
  return directory + "/" + path;
}

Result<std::string> check_path(const std::string& name,
                               const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno == EACCES)
      return error(Code::kPermission, "program '{}': no permission to look",
                   path);
    return error(Code::kInvalidArgument, "program '{}' was not found", path);
  }
  if (S_ISDIR(info.st_mode))
    return error(Code::kPermission, "program '{}' is a directory", name);
  if (!is_executable(path))
    return error(Code::kPermission,
                 "program '{}' is not executable; chmod +x it, or name its "
                 "interpreter in front (python3 {})",
                 name, name);
  return path;
}

}  // namespace

Result<std::string> find_program(
    const std::string& name,
    const std::map<std::string, std::string>& environment,
    const std::string& directory) {
  if (name.empty())
    return error(Code::kInvalidArgument, "the program's name is empty");
  if (name.find('/') != std::string::npos)
    return check_path(name, below(directory, name));
  const auto path = environment.find("PATH");
  std::string rest =
      path != environment.end() ? path->second : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    const std::string candidate =
        below(directory, (folder.empty() ? "." : folder) + "/" + name);
    if (is_executable(candidate)) return candidate;
    if (colon == std::string::npos) break;
    rest.erase(0, colon + 1);
  }
  if (is_file(below(directory, name)))
    return error(Code::kInvalidArgument,
                 "program '{}' was not found on PATH; for the file in this "
                 "directory write ./{}",
                 name, name);
  return error(Code::kInvalidArgument, "program '{}' was not found on PATH",
               name);
}

}  // namespace rondo
