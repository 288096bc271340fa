// A folder of images: each folder in it is a class.
//
//   folder/train/<class>/*.jpg and folder/test/<class>/*.jpg, or
//   folder/<class>/*.jpg, of which a tenth is for the test
#pragma once

#include <string>

#include "rondo/base/status.h"
#include "rondo/trainer/examples.h"

namespace rondo {

struct ImageFolder {
  std::string folder;
  // What images are made to fit.
  int64_t side = 28;
  int64_t channels = 1;
};

// Whether a folder has folders in it.
bool has_image_folders(const std::string& folder);
// Files that end in .jpg, .jpeg or .png. Only their beginnings are read; the
// images when a batch has them.
Result<TrainingData> load_image_folder(const ImageFolder& images);

}  // namespace rondo
