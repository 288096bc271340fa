#include "rondo/ps/log_file.h"

#include <filesystem>
#include <fstream>

#include "rondo/ps/test_cluster.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> read(const std::string& path, Status& status) {
  std::vector<std::string> bodies;
  status = read_log(path, [&](const LogRecord& record) -> Status {
    bodies.push_back(fmt::format("{}:{}:{}", record.kind, record.body,
                                 record.payload.bytes()));
    return {};
  });
  return bodies;
}

std::string written(const TestFolder& folder) {
  const std::string path = folder.path() + "/log";
  auto log = LogFile::create(path, true).value();
  const Tensor payload = counting({100});
  EXPECT_TRUE(log->append(1, "one", {}).ok());
  EXPECT_TRUE(log->append(2, "two", {&payload, 1}).ok());
  EXPECT_TRUE(log->append(3, "", {}).ok());
  EXPECT_EQ(log->bytes(), std::filesystem::file_size(path));
  return path;
}

TEST(LogFile, GivesBackWhatWasWritten) {
  const TestFolder folder;
  Status status;
  EXPECT_THAT(read(written(folder), status),
              ElementsAre("1:one:0", "2:two:400", "3::0"));
  EXPECT_TRUE(status.ok());
}

// However much of the last record a killed process has written.
TEST(LogFile, CutsOffHalfARecord) {
  for (uintmax_t missing = 1; missing < 24 + 3 + 400; missing += 13) {
    const TestFolder folder;
    const std::string path = written(folder);
    const uintmax_t whole = std::filesystem::file_size(path) - 24;
    std::filesystem::resize_file(path, whole - missing);
    Status status;
    EXPECT_THAT(read(path, status), ElementsAre("1:one:0"));
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(std::filesystem::file_size(path), 27u);
  }
}

TEST(LogFile, DamageIsNotTakenForTheEnd) {
  for (const std::streamoff at : {0, 9, 25, 60, 100}) {
    const TestFolder folder;
    const std::string path = written(folder);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('\x7f');
    file.close();
    Status status;
    EXPECT_LE(read(path, status).size(), 1u);
    EXPECT_THAT(status.message(), HasSubstr("is damaged at byte")) << at;
  }
}

TEST(LogFile, IsNotWrittenOver) {
  const TestFolder folder;
  EXPECT_FALSE(LogFile::create(written(folder), false).ok());
}

}  // namespace
}  // namespace rondo
