#include "rondo/launch/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace rondo {

Result<ScratchFolder> ScratchFolder::make(const std::string& parent) {
  std::string name = fmt::format("{}/rondo-servers-XXXXXX", parent);
  if (mkdtemp(name.data()) == nullptr)
    return errno_error(
        Code::kInvalidArgument, errno,
        fmt::format("cannot make a folder for the servers' logs in {}",
                    parent));
  ScratchFolder made;
  made.path_ = std::move(name);
  return made;
}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  remove();
  path_ = other.release();
  return *this;
}

void ScratchFolder::remove() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(release(), ignored);
}

}  // namespace rondo
