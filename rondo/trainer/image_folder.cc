#include "rondo/trainer/image_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "rondo/base/crc32c.h"
#include "rondo/trainer/image.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

// The image files of a class.
struct ImageClass {
  std::string name;
  Paths files;
};

struct LabelledFiles {
  std::vector<std::string> paths;
  std::vector<int64_t> labels;
};

class ImageReader final : public ExampleReader {
 public:
  ImageReader(std::vector<std::string> paths, const ImageFolder& images)
      : paths_(std::move(paths)), images_(images) {}

  Shape shape() const override {
    return {static_cast<int64_t>(paths_.size()), images_.side, images_.side,
            images_.channels};
  }
  // Classes and names; hosts may have the folder in different places.
  uint32_t checksum() const override {
    uint32_t sum = 0;
    for (const fs::path path : paths_)
      for (const fs::path& part :
           {path.parent_path().filename(), path.filename()}) {
        const std::string& name = part.native();
        // With the zero at its end, which no name has.
        sum = crc32c(name.c_str(), name.size() + 1, sum);
      }
    return sum;
  }
  Status read(int64_t row, std::span<uint8_t> into) const override {
    RONDO_ASSIGN_OR_RETURN(const Image image,
                           read_image_file(paths_[static_cast<size_t>(row)]));
    fit(image, images_.side, images_.channels, into);
    return {};
  }

 private:
  const std::vector<std::string> paths_;
  const ImageFolder images_;
};

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

// In the order of their names, which is the same everywhere.
template <class Wanted>
Result<Paths> sorted(const fs::path& folder, const Wanted& wanted) {
  std::error_code failed;
  Paths found;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed))
    if (!is_hidden(at->path()) && wanted(*at)) found.push_back(at->path());
  if (failed)
    return error(Code::kInvalidArgument, "\"{}\" cannot be read: {}",
                 folder.string(), failed.message());
  std::ranges::sort(found);
  return found;
}

bool is_folder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

bool has_image_name(const fs::directory_entry& entry) {
  std::string end = entry.path().extension().string();
  for (char& c : end)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::error_code ignored;
  return (end == ".jpg" || end == ".jpeg" || end == ".png") &&
         entry.is_regular_file(ignored);
}

Status check_file(const fs::path& path) {
  std::array<char, 8> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  if (begins_as_image({head.data(), static_cast<size_t>(file.gcount())}))
    return {};
  return error(Code::kInvalidArgument,
               "\"{}\" is neither a JPEG nor a PNG image", path.string());
}

Result<std::vector<ImageClass>> classes_in(const fs::path& folder) {
  RONDO_ASSIGN_OR_RETURN(const Paths folders, sorted(folder, is_folder));
  std::vector<ImageClass> classes;
  for (const fs::path& path : folders) {
    RONDO_ASSIGN_OR_RETURN(Paths files, sorted(path, has_image_name));
    if (files.empty())
      return error(Code::kInvalidArgument,
                   "\"{}\" has no .jpg or .png files: each folder in \"{}\" "
                   "is a class of images",
                   path.string(), folder.string());
    for (const fs::path& file : files) RONDO_RETURN_IF_ERROR(check_file(file));
    classes.push_back({path.filename().string(), std::move(files)});
  }
  return classes;
}

std::vector<std::string> names_of(const std::vector<ImageClass>& classes) {
  std::vector<std::string> names;
  for (const ImageClass& one : classes) names.push_back(one.name);
  return names;
}

Status check_same(const std::string& folder,
                  const std::vector<ImageClass>& train,
                  const std::vector<ImageClass>& test) {
  const auto ours = names_of(train);
  const auto theirs = names_of(test);
  std::vector<std::string> one_sided;
  std::ranges::set_symmetric_difference(ours, theirs,
                                        std::back_inserter(one_sided));
  if (one_sided.empty()) return {};
  return error(Code::kInvalidArgument,
               "\"{}\": train and test must have folders for the same classes; "
               "only one of them has {}",
               folder, fmt::join(one_sided, ", "));
}

LabelledFiles labelled(const std::vector<ImageClass>& classes) {
  LabelledFiles all;
  for (size_t label = 0; label < classes.size(); ++label)
    for (const fs::path& file : classes[label].files) {
      all.paths.push_back(file.string());
      all.labels.push_back(static_cast<int64_t>(label));
    }
  return all;
}

// Every tenth image of each class, and the last of a class that has fewer.
std::vector<ImageClass> hold_out(std::vector<ImageClass>& classes) {
  std::vector<ImageClass> test;
  for (ImageClass& one : classes) {
    Paths kept;
    Paths held;
    const size_t every = std::min<size_t>(10, one.files.size());
    for (size_t i = 0; i < one.files.size(); ++i)
      (every > 1 && i % every == every - 1 ? held : kept)
          .push_back(one.files[i]);
    one.files = std::move(kept);
    test.push_back({one.name, std::move(held)});
  }
  return test;
}

Examples examples_of(LabelledFiles files, const ImageFolder& images) {
  Examples made;
  made.labels =
      Tensor::empty({static_cast<int64_t>(files.labels.size())}, DType::kI64);
  std::ranges::copy(files.labels, made.labels.span<int64_t>().begin());
  made.reader = std::make_shared<ImageReader>(std::move(files.paths), images);
  return made;
}

}  // namespace

bool has_image_folders(const std::string& folder) {
  const auto folders = sorted(folder, is_folder);
  return folders.ok() && !folders->empty();
}

Result<TrainingData> load_image_folder(const ImageFolder& images) {
  const fs::path folder(images.folder);
  std::error_code ignored;
  const bool divided = fs::is_directory(folder / "train", ignored);
  RONDO_ASSIGN_OR_RETURN(std::vector<ImageClass> train,
                         classes_in(divided ? folder / "train" : folder));
  std::vector<ImageClass> test;
  if (divided) {
    RONDO_ASSIGN_OR_RETURN(test, classes_in(folder / "test"));
    RONDO_RETURN_IF_ERROR(check_same(images.folder, train, test));
  } else {
    test = hold_out(train);
  }
  TrainingData data{.name = images.folder,
                    .classes = static_cast<int64_t>(train.size())};
  data.train = examples_of(labelled(train), images);
  data.test = examples_of(labelled(test), images);
  return data;
}

}  // namespace rondo
