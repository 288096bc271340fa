// Tensors in files of the safetensors format, which other programs read too.
// What a file looks like: safetensors_header.h.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/tensor/safetensors_header.h"
#include "rondo/tensor/tensor.h"

namespace rondo {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Asked from time to time during a long transfer, which ends with this failure.
using StopCheck = std::function<Status()>;

// Writes the tensors straight from their memory, with their checksums. The file
// is there whole and on disk when this returns; when it fails, what was at the
// path before still is. `metadata` is text for whoever reads the file.
RONDO_API Status
write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                  const std::map<std::string, std::string>& metadata = {},
                  const StopCheck& stop = {});

// A file that is open for reading. Any number of threads may read.
class RONDO_API SafetensorsFile {
 public:
  // Reads and checks the header only.
  static Result<SafetensorsFile> open(const std::string& path);
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&& other) noexcept;
  ~SafetensorsFile();

  const std::string& path() const { return path_; }
  // By name.
  const std::vector<SafetensorsEntry>& entries() const {
    return header_.entries;
  }
  const std::map<std::string, std::string>& metadata() const {
    return header_.metadata;
  }
  // nullptr when there is none.
  const SafetensorsEntry* find(std::string_view name) const;

  // The elements of an entry of this file, whose dtype Rondo has, into memory
  // of entry.bytes() bytes. An error when they are not what was written.
  Status read(const SafetensorsEntry& entry, void* to,
              const StopCheck& stop = {}) const;
  Result<Tensor> read(std::string_view name) const;

 private:
  explicit SafetensorsFile(std::string path) : path_(std::move(path)) {}
  Status read_header();
  Status read_at(uint64_t offset, void* to, size_t bytes) const;

  std::string path_;
  int file_ = -1;
  uint64_t data_ = 0;  // where the data begin
  SafetensorsHeader header_;
};

}  // namespace rondo
