// Files: tensors saved and restored, and bytes read and written.
//
// A file's name is a vector of u8, as all text is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rondo/graph/graph.h"

namespace rondo {

// Text as a vector of u8.
RONDO_API Tensor text_tensor(std::string_view text);

// Writes tensors to a file under these names; it is there whole, or as it was
// before.
RONDO_API Node& save(Value filename, const std::vector<std::string>& names,
                     const std::vector<Value>& tensors);

struct RestoreOptions {
  // What is known of the tensors, in the order of their names.
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
  // Takes a tensor of another shape that has as many elements.
  bool reshape = false;
};
// The tensors of these names from a file that save() wrote, or another program
// in the safetensors format.
RONDO_API std::vector<Value> restore(Value filename,
                                     const std::vector<std::string>& names,
                                     RestoreOptions options);

// A file's bytes, as a vector of u8.
RONDO_API Value read_file(Value filename);
RONDO_API Node& write_file(Value filename, Value contents);

}  // namespace rondo
