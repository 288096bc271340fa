// InputFile: a file that is read from front to back, in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rondo/base/status.h"
#include "rondo/train/dataset.h"

namespace rondo {

// One thread at a time. Failures name the file and the offset, which of a
// compressed file is that of what it contains.
class InputFile {
 public:
  static Result<std::unique_ptr<InputFile>> open(std::string path,
                                                 Compression compression);
  virtual ~InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  // Of the next byte.
  uint64_t offset() const { return offset_; }
  // The next bytes, which stay next: at least `bytes`, but at the end of the
  // file all that are left. Good until the next call.
  Result<std::span<const char>> peek(size_t bytes);
  // Leaves out bytes that peek() gave.
  void consume(size_t bytes);
  // How many bytes it read: fewer than `bytes` only at the end of the file.
  Result<size_t> read(void* to, size_t bytes);

 protected:
  explicit InputFile(std::string path) : path_(std::move(path)) {}
  // As read(2): some bytes, or 0 at the end.
  virtual Result<size_t> read_some(char* to, size_t bytes) = 0;
  // "path, at offset 12: what".
  Status fault(Code code, std::string_view what) const;

 private:
  const std::string path_;
  uint64_t offset_ = 0;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what is unread in buffer_
  size_t end_ = 0;
};

}  // namespace rondo
