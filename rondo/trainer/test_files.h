// Files of training data for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rondo {

// A folder that goes with the test.
class DataFolder {
 public:
  DataFolder() {
    path_ = testing::TempDir() + "rondo_trainer_XXXXXX";
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~DataFolder() { std::filesystem::remove_all(path_); }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::string path_;
};

// An idx file of these extents, its bytes 0, 1, 2 and so on below `limit`.
inline std::string idx_bytes(const std::vector<int>& extents, int limit = 256) {
  std::string bytes = {0, 0, 8, static_cast<char>(extents.size())};
  int count = 1;
  for (const int extent : extents) {
    for (const int shift : {24, 16, 8, 0})
      bytes += static_cast<char>(extent >> shift & 255);
    count *= extent;
  }
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(i % limit);
  return bytes;
}

}  // namespace rondo
