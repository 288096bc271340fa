#include "rondo/trainer/text_file.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "rondo/train/data/input_file.h"

namespace rondo {
namespace {

constexpr size_t kMostBytes = size_t{1} << 32;
constexpr int64_t kBytes = 256;

// From piece `first` on.
Examples pieces(std::string_view bytes, int64_t first, int64_t count,
                int64_t places) {
  Examples made{Tensor::empty({count, places}, DType::kU8),
                Tensor::empty({count, places}, DType::kU8)};
  const char* from = bytes.data() + first * places;
  std::copy_n(from, count * places, made.inputs.span<uint8_t>().data());
  std::copy_n(from + 1, count * places, made.labels.span<uint8_t>().data());
  return made;
}

}  // namespace

Result<TrainingData> text_examples(const std::string& name,
                                   std::string_view bytes, int64_t places) {
  const int64_t count =
      (static_cast<int64_t>(bytes.size()) - 1) / std::max<int64_t>(places, 1);
  if (count < 2)
    return error(Code::kInvalidArgument,
                 "\"{}\" has {} bytes, and training takes two pieces of {} at "
                 "least",
                 name, bytes.size(), places);
  const int64_t test = std::max<int64_t>(count / 10, 1);
  TrainingData data{
      .name = name, .kind = ExampleKind::kText, .classes = kBytes};
  data.train = pieces(bytes, 0, count - test, places);
  data.test = pieces(bytes, count - test, test, places);
  return data;
}

Result<TrainingData> load_text_file(const std::string& path, int64_t places) {
  RONDO_ASSIGN_OR_RETURN(const auto file,
                         InputFile::open(path, Compression::kNone));
  std::string bytes;
  std::vector<char> piece(size_t{1} << 20);
  for (;;) {
    RONDO_ASSIGN_OR_RETURN(const size_t got,
                           file->read(piece.data(), piece.size()));
    if (got == 0) break;
    bytes.append(piece.data(), got);
    if (bytes.size() > kMostBytes)
      return error(Code::kInvalidArgument,
                   "\"{}\" has more than {} bytes: give a part of it", path,
                   kMostBytes);
  }
  return text_examples(path, bytes, places);
}

}  // namespace rondo
