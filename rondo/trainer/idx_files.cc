#include "rondo/trainer/idx_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <vector>

#include "rondo/train/data/input_file.h"

namespace rondo {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 34;

// The file of this name or its compressed form; the first where neither is.
std::string existing(const std::string& folder, const char* name) {
  const auto plain = std::filesystem::path(folder) / name;
  const std::string packed = plain.string() + ".gz";
  std::error_code ignored;
  return std::filesystem::exists(plain, ignored) ||
                 !std::filesystem::exists(packed, ignored)
             ? plain.string()
             : packed;
}

Result<Shape> read_head(InputFile& file, int rank) {
  std::array<uint8_t, 4> magic{};
  RONDO_ASSIGN_OR_RETURN(const size_t got, file.read(magic.data(), 4));
  const std::array<uint8_t, 4> right = {0, 0, 8, static_cast<uint8_t>(rank)};
  if (got != 4 || magic != right)
    return error(Code::kInvalidArgument,
                 "\"{}\" is not an idx file of bytes with {} axes", file.path(),
                 rank);
  std::vector<int64_t> extents;
  int64_t bytes = 1;
  for (int axis = 0; axis < rank; ++axis) {
    std::array<uint8_t, 4> text{};
    RONDO_ASSIGN_OR_RETURN(const size_t more, file.read(text.data(), 4));
    if (more != 4)
      return error(Code::kInvalidArgument, "\"{}\" ends within its head",
                   file.path());
    const int64_t extent = int64_t{text[0]} << 24 | int64_t{text[1]} << 16 |
                           int64_t{text[2]} << 8 | int64_t{text[3]};
    if (extent == 0 || bytes > kMostBytes / extent)
      return error(Code::kInvalidArgument,
                   "\"{}\": extent {} of axis {} cannot be right", file.path(),
                   extent, axis);
    bytes *= extent;
    extents.push_back(extent);
  }
  return Shape(extents);
}

Result<Examples> load(const std::string& folder, const char* images_name,
                      const char* labels_name) {
  const std::string images_path = existing(folder, images_name);
  const std::string labels_path = existing(folder, labels_name);
  RONDO_ASSIGN_OR_RETURN(Tensor images, read_idx_file(images_path, 3));
  RONDO_ASSIGN_OR_RETURN(Tensor labels, read_idx_file(labels_path, 1));
  const Shape& shape = images.shape();
  if (shape[0] != labels.shape()[0])
    return error(Code::kInvalidArgument,
                 "\"{}\" has {} images and \"{}\" {} labels", images_path,
                 shape[0], labels_path, labels.shape()[0]);
  return Examples{images.reshape({shape[0], shape[1], shape[2], 1}), labels};
}

int64_t classes_of(const Examples& examples) {
  const auto labels = examples.labels.span<uint8_t>();
  return 1 + int64_t{*std::max_element(labels.begin(), labels.end())};
}

}  // namespace

Result<Tensor> read_idx_file(const std::string& path, int rank) {
  RONDO_ASSIGN_OR_RETURN(
      const auto file,
      InputFile::open(path, path.ends_with(".gz") ? Compression::kGzip
                                                  : Compression::kNone));
  RONDO_ASSIGN_OR_RETURN(const Shape shape, read_head(*file, rank));
  Tensor tensor = Tensor::empty(shape, DType::kU8);
  RONDO_ASSIGN_OR_RETURN(const size_t got,
                         file->read(tensor.data(), tensor.bytes()));
  if (got != tensor.bytes())
    return error(Code::kInvalidArgument,
                 "\"{}\" is cut off: {} of {} bytes behind its head", path, got,
                 tensor.bytes());
  RONDO_ASSIGN_OR_RETURN(const auto rest, file->peek(1));
  if (!rest.empty())
    return error(Code::kInvalidArgument,
                 "\"{}\" is longer than its head says: {} bytes", path,
                 tensor.bytes());
  return tensor;
}

bool has_idx_files(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(existing(folder, "train-images-idx3-ubyte"),
                                 ignored);
}

Result<TrainingData> load_idx_files(const std::string& folder) {
  TrainingData data{.name = folder};
  RONDO_ASSIGN_OR_RETURN(data.train, load(folder, "train-images-idx3-ubyte",
                                          "train-labels-idx1-ubyte"));
  RONDO_ASSIGN_OR_RETURN(data.test, load(folder, "t10k-images-idx3-ubyte",
                                         "t10k-labels-idx1-ubyte"));
  data.classes = std::max(classes_of(data.train), classes_of(data.test));
  const Shape& train = data.train.inputs.shape();
  const Shape& test = data.test.inputs.shape();
  if (train[1] != test[1] || train[2] != test[2])
    return error(Code::kInvalidArgument,
                 "{}: training images are {} x {}, and test images {} x {}",
                 folder, train[1], train[2], test[1], test[2]);
  return data;
}

}  // namespace rondo
