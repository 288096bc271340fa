#include "rondo/graph/attr.h"

#include <algorithm>
#include <cstring>

namespace rondo {
namespace {

template <class List, class Show>
std::string list_string(const List& list, Show show) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", show(list[i]));
  return text + "]";
}

std::string quoted(const std::string& s) { return fmt::format("\"{}\"", s); }

struct Show {
  std::string operator()(bool b) const { return b ? "true" : "false"; }
  std::string operator()(int64_t i) const { return std::to_string(i); }
  std::string operator()(double d) const { return fmt::format("{}", d); }
  std::string operator()(const std::string& s) const { return quoted(s); }
  std::string operator()(DType t) const { return std::string(name_of(t)); }
  std::string operator()(const PartialShape& s) const { return s.to_string(); }
  std::string operator()(const Tensor& t) const { return t.to_string(); }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    return list_string(list, [this](const T& x) { return (*this)(x); });
  }
};

struct Same {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  bool operator()(const Tensor& a, const Tensor& b) const {
    return a.dtype() == b.dtype() && a.shape() == b.shape() &&
           (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
  }
  template <class T, class U>
  bool operator()(const T&, const U&) const {
    return false;
  }
};

}  // namespace

std::string_view kind_name(size_t index) {
  constexpr std::string_view kNames[] = {
      "bool",           "int",          "float",
      "string",         "type",         "shape",
      "tensor",         "list of int",  "list of float",
      "list of string", "list of type", "list of shape"};
  static_assert(std::size(kNames) == std::variant_size_v<AttrValue>);
  return kNames[index];
}

std::string to_string(const AttrValue& value) {
  return std::visit(Show{}, value);
}

bool same(const AttrValue& a, const AttrValue& b) {
  return a.index() == b.index() && std::visit(Same{}, a, b);
}

Attrs::Attrs(std::initializer_list<Item> items) {
  for (const Item& item : items) set(item.first, item.second);
}

void Attrs::set(std::string name, AttrValue value) {
  auto at = std::lower_bound(
      items_.begin(), items_.end(), name,
      [](const Item& item, const std::string& n) { return item.first < n; });
  if (at != items_.end() && at->first == name)
    at->second = std::move(value);
  else
    items_.insert(at, {std::move(name), std::move(value)});
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const Item& item : items_)
    if (item.first == name) return &item.second;
  return nullptr;
}

bool Attrs::operator==(const Attrs& other) const {
  return items_.size() == other.items_.size() &&
         std::equal(items_.begin(), items_.end(), other.items_.begin(),
                    [](const Item& a, const Item& b) {
                      return a.first == b.first && same(a.second, b.second);
                    });
}

void Attrs::no_such(std::string_view name) {
  throw Error(Code::kInternal,
              fmt::format("no attribute \"{}\" of that kind", name));
}

}  // namespace rondo
