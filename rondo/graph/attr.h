// Attrs: the attributes of a node, fixed when the node is made.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rondo/graph/partial_shape.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

using Ints = std::vector<int64_t>;
using AttrValue =
    std::variant<bool, int64_t, double, std::string, DType, PartialShape,
                 Tensor, Ints, std::vector<double>, std::vector<std::string>,
                 std::vector<DType>, std::vector<PartialShape>>;

// What a value of this kind is called in the operation reference: "int",
// "list of int", "type", and so on, by its index in the variant.
RONDO_API std::string_view kind_name(size_t index);
// For messages and pictures: "[1, 2, 2, 1]", "\"SAME\"", "f32".
RONDO_API std::string to_string(const AttrValue& value);
// Equal in kind and content; tensors bit by bit.
RONDO_API bool same(const AttrValue& a, const AttrValue& b);

// Few and looked up only while graphs are built and kernels made, so a sorted
// list does.
class RONDO_API Attrs {
 public:
  using Item = std::pair<std::string, AttrValue>;

  Attrs() = default;
  Attrs(std::initializer_list<Item> items);

  void set(std::string name, AttrValue value);
  const AttrValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The attribute as T; throws when it is missing or of another kind, which the
  // check of a new node against its operation rules out.
  template <class T>
  const T& get(std::string_view name) const {
    const AttrValue* value = find(name);
    const T* as = value ? std::get_if<T>(value) : nullptr;
    if (!as) no_such(name);
    return *as;
  }
  const std::vector<Item>& items() const { return items_; }
  bool operator==(const Attrs& other) const;

 private:
  [[noreturn]] static void no_such(std::string_view name);

  std::vector<Item> items_;  // by name
};

}  // namespace rondo
