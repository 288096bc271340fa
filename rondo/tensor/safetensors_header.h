// The header of a safetensors file: which tensors it has, and where.
//
//   file   = length header data
//   length = the header's bytes, in 64 bits, little-endian
//   header = {"name": {"dtype": "F32", "shape": [2, 3],
//                      "data_offsets": [begin, end]}, …,
//             "__metadata__": {"key": "text", …}}, as JSON, with any number of
//            spaces behind it
//   data   = the elements of all tensors, back to back; offsets count from
//            where the data begin
//
// Rondo's own files have the checksum of each tensor's bytes in the metadata,
// "crc32c:<name>" with eight hexadecimal digits.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

struct SafetensorsEntry {
  std::string name;
  std::string type;            // as the file calls it: "F32"
  std::optional<DType> dtype;  // none: a type that Rondo does not have
  Shape shape;
  uint64_t begin = 0, end = 0;  // in the data
  std::optional<uint32_t> crc;

  uint64_t bytes() const { return end - begin; }
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;  // without checksums
};

// "F32" for DType::kF32, and so on.
std::string_view safetensors_type(DType dtype);

// The header's JSON; as long for one checksum as for another.
Result<std::string> to_json(const SafetensorsHeader& header);
// Entries by name. Their ranges lie within `data_bytes`, fill it without gaps
// or overlaps, and are what their types and shapes need; or it is an error.
Result<SafetensorsHeader> header_from_json(std::string_view json,
                                           uint64_t data_bytes);

}  // namespace rondo
