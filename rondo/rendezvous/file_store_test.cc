#include "rondo/rendezvous/file_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace rondo {
namespace {

using testing::HasSubstr;

class FileStore : public testing::Test {
 protected:
  FileStore() {
    char folder[] = "/tmp/rondo-file-test-XXXXXX";
    root_ = ::mkdtemp(folder);
  }
  ~FileStore() override { std::filesystem::remove_all(root_); }
  std::string root_;
};

TEST_F(FileStore, FolderAndFilesAreForThisUserOnly) {
  const std::string folder = root_ + "/a/b";
  auto store = open_file_store(folder).value();
  store->set("key", "secret").value();
  struct stat s {};
  ASSERT_EQ(::stat(folder.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((folder + "/k.key").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777, 0600u);
}

TEST_F(FileStore, AFolderThatOthersCanWriteIsRefused) {
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  const auto store = open_file_store(root_);
  EXPECT_EQ(store.status().code(), Code::kPermission);
  EXPECT_THAT(store.status().message(), HasSubstr("chmod 700"));
}

TEST_F(FileStore, BadPathsAreErrors) {
  EXPECT_EQ(open_file_store("relative").status().code(),
            Code::kInvalidArgument);
  {
    std::unique_ptr<FILE, int (*)(FILE*)> f(
        ::fopen((root_ + "/file").c_str(), "w"), ::fclose);
  }
  EXPECT_FALSE(open_file_store(root_ + "/file").ok());
  EXPECT_FALSE(open_file_store("/proc/rondo-store").ok());
}

TEST_F(FileStore, TheLastRankToCloseCleansUp) {
  const std::string folder = root_ + "/job";
  auto a = open_job_file_store(folder, 2).value();
  a->set("key", "1").value();
  a.reset();
  EXPECT_TRUE(std::filesystem::exists(folder)) << "rank b has yet to come";
  auto b = open_job_file_store(folder, 2).value();
  EXPECT_EQ(b->get("key", Deadline(seconds(5))).value(), "1");
  a = open_job_file_store(folder, 2).value();
  b.reset();
  EXPECT_TRUE(std::filesystem::exists(folder)) << "rank a is back";
  a.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(FileStore, CleaningUpLeavesWhatIsNotTheStores) {
  const std::string folder = root_ + "/job", mine = folder + "/notes.txt";
  auto a = open_job_file_store(folder, 1).value();
  a->set("key", "1").value();
  std::unique_ptr<FILE, int (*)(FILE*)>(::fopen(mine.c_str(), "w"), ::fclose);
  a.reset();
  EXPECT_TRUE(std::filesystem::exists(mine));
  EXPECT_FALSE(std::filesystem::exists(folder + "/k.key"));
}

}  // namespace
}  // namespace rondo
