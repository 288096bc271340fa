#include "rondo/kernels/resources.h"

namespace rondo {

void Resources::clear() {
  // What goes may let others go on, which takes locks.
  decltype(by_name_) gone;
  const std::lock_guard lock(mutex_);
  gone.swap(by_name_);
}

Status Resources::other_kind(std::string_view name) {
  return error(Code::kInvalidArgument,
               "\"{}\" is the name of something of another kind", name);
}

}  // namespace rondo
