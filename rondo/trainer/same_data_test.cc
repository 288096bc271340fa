#include "rondo/trainer/same_data.h"

#include <gmock/gmock.h>

#include "rondo/trainer/image_folder.h"
#include "rondo/trainer/synthetic.h"
#include "rondo/trainer/test_files.h"
#include "rondo/trainer/test_images.h"

namespace rondo {
namespace {

using testing::HasSubstr;

// Of a folder with these files, one class in front of the other.
std::vector<double> marks(const std::vector<std::string>& files) {
  const DataFolder folder;
  for (const std::string& file : files) {
    std::filesystem::create_directories(
        std::filesystem::path(folder.path() + "/" + file).parent_path());
    folder.write(file, png_bytes(test_image(4, 4, 1, 2, 3)));
  }
  return marks_of(load_image_folder({.folder = folder.path()}).value());
}

TEST(SameData, FilesAreKnownByClassAndName) {
  const auto these = marks({"a/0.png", "a/1.png", "b/0.png", "b/1.png"});
  // In another folder, which does not matter.
  EXPECT_EQ(marks({"b/0.png", "b/1.png", "a/0.png", "a/1.png"}), these);
  EXPECT_NE(marks({"a/0.png", "a/2.png", "b/0.png", "b/1.png"}), these);
  EXPECT_NE(marks({"a/0.png", "a/1.png", "c/0.png", "c/1.png"}), these);
  EXPECT_NE(marks({"a/0.png", "a/1.png", "a/2.png", "b/0.png", "b/1.png"}),
            these);
}

TEST(SameData, LabelsCount) {
  TrainingData data = synthetic_images({.train = 8, .test = 4});
  const auto these = marks_of(data);
  EXPECT_EQ(marks_of(synthetic_images({.train = 8, .test = 4})), these);
  data.test.labels.span<uint8_t>()[3] ^= 1;
  EXPECT_NE(marks_of(data), these);
}

TEST(SameData, TheRankThatDiffersIsNamed) {
  const TrainingData data{.name = "pictures"};
  const std::vector<double> first = {20, 5, 77, 78};
  EXPECT_TRUE(compare_marks(data, 3, first, first).ok());
  EXPECT_THAT(
      compare_marks(data, 3, std::vector<double>{19, 5, 7, 78}, first)
          .message(),
      HasSubstr("rank 3 has other data in pictures than rank 0: 19 examples to "
                "train on and 5 to test with, where rank 0 has 20 and 5\n"));
  EXPECT_THAT(compare_marks(data, 3, std::vector<double>{20, 5, 77, 8}, first)
                  .message(),
              HasSubstr("rank 0 has as many of other names or labels\n"));
}

}  // namespace
}  // namespace rondo
