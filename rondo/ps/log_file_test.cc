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

// Whichever byte it is. Of the last record's body and payload nobody can say
// whether they were ever whole.
TEST(LogFile, DamageIsNotTakenForTheEnd) {
  const TestFolder folder;
  const std::string path = written(folder);
  const auto size =
      static_cast<std::streamoff>(std::filesystem::file_size(path));
  for (std::streamoff at = 0; at < size; ++at)
    for (const char bits : {'\x01', '\x80', '\xff'}) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(at);
      const auto old = static_cast<char>(file.get());
      file.seekp(at);
      file.put(static_cast<char>(old ^ bits));
      file.close();
      Status status;
      EXPECT_LE(read(path, status).size(), 2u);
      EXPECT_THAT(status.message(), HasSubstr("is damaged at byte")) << at;
      ASSERT_EQ(std::filesystem::file_size(path), static_cast<uintmax_t>(size));
      file.open(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(at);
      file.put(old);
    }
  Status status;
  EXPECT_EQ(read(path, status).size(), 3u);
}

// What a machine that crashed may leave.
TEST(LogFile, ZerosAreTakenForTheEnd) {
  for (const uintmax_t zeros : {1u, 23u, 24u, 5000u, 200'000u}) {
    const TestFolder folder;
    const std::string path = written(folder);
    const uintmax_t size = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, size + zeros);
    Status status;
    EXPECT_EQ(read(path, status).size(), 3u);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(std::filesystem::file_size(path), size);
  }
}

TEST(LogFile, IsNotWrittenOver) {
  const TestFolder folder;
  EXPECT_FALSE(LogFile::create(written(folder), false).ok());
}

}  // namespace
}  // namespace rondo
