// RecordReader: where in a file one record ends and the next begins.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "rondo/train/data/input_file.h"

namespace rondo {

// Reads one file. One thread at a time.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  // The next record as a vector of u8; none at the end of the file. A failure
  // names the file and the offset; nothing can be read after it.
  virtual Result<std::optional<Tensor>> next() = 0;
};

using RecordReaderMaker =
    std::function<std::unique_ptr<RecordReader>(std::unique_ptr<InputFile>)>;

std::unique_ptr<RecordReader> line_reader(std::unique_ptr<InputFile> file);
std::unique_ptr<RecordReader> fixed_length_reader(
    std::unique_ptr<InputFile> file, const FixedLengthOptions& options);
std::unique_ptr<RecordReader> tf_record_reader(std::unique_ptr<InputFile> file);

}  // namespace rondo
