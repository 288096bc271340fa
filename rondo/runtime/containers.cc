#include "rondo/runtime/containers.h"

namespace rondo {

Resources& Containers::find_or_make(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto at = by_name_.find(name);
  return at != by_name_.end() ? at->second : by_name_[std::string(name)];
}

Resources& Containers::of(const Node& node) {
  const AttrValue* name = node.attrs().find("container");
  const auto* text = name ? std::get_if<std::string>(name) : nullptr;
  return find_or_make(text ? std::string_view(*text) : std::string_view());
}

void Containers::clear(std::string_view name) { find_or_make(name).clear(); }

void Containers::clear_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, resources] : by_name_) resources.clear();
}

}  // namespace rondo
