#include "rondo/kernels/resources.h"

namespace rondo {

void Resources::clear() {
  const std::lock_guard lock(mutex_);
  by_name_.clear();
}

Status Resources::other_kind(std::string_view name) {
  return error(Code::kInvalidArgument,
               "\"{}\" is the name of something of another kind", name);
}

}  // namespace rondo
