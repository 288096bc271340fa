#include "rondo/base/new_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rondo {
namespace {

using testing::HasSubstr;

class NewFileTest : public testing::Test {
 protected:
  NewFileTest() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "rondoXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "file";
  }
  ~NewFileTest() override { std::filesystem::remove_all(folder_); }

  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(NewFileTest, TakesThePlaceOfTheOldOneWhenItIsWhole) {
  std::ofstream(path_) << "old";
  NewFile file(path_);
  ASSERT_TRUE(file.write("....", 4).ok());
  ASSERT_TRUE(file.write("behind", 6).ok());
  ASSERT_TRUE(file.overwrite(1, "ab", 2).ok());
  EXPECT_EQ(content(), "old");
  ASSERT_TRUE(file.commit().ok());
  EXPECT_EQ(content(), ".ab.behind");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, WithoutCommitNothingHappens) {
  std::ofstream(path_) << "old";
  {
    NewFile file(path_);
    ASSERT_TRUE(file.write("new", 3).ok());
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, PermissionsAreThoseOfAnyNewFile) {
  const mode_t before = ::umask(027);
  NewFile file(path_);
  ::umask(before);
  ASSERT_TRUE(file.commit().ok());
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST_F(NewFileTest, NoFolder) {
  NewFile file(folder_ / "none" / "file");
  const Status status = file.write("x", 1);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("there is no folder"));
  EXPECT_THAT(status.message(), HasSubstr("none/"));
  EXPECT_FALSE(file.commit().ok());
}

TEST_F(NewFileTest, AFolderIsInItsPlace) {
  NewFile file(folder_);
  ASSERT_TRUE(file.write("x", 1).ok());
  const Status status = file.commit();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(folder_.string()));
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace rondo
