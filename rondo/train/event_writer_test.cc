#include "rondo/train/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "rondo/base/crc32c.h"
#include "rondo/graph/ops/basic.h"
#include "rondo/graph/ops/summary.h"
#include "rondo/runtime/session.h"

namespace rondo {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

// The records of a file; fails where one is damaged.
std::vector<std::string> records_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  auto masked = [](const char* data, size_t size) {
    const uint32_t crc = crc32c(data, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
  };
  std::vector<std::string> records;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    uint32_t crc = 0;
    EXPECT_LE(at + 16, bytes.size());
    std::memcpy(&length, &bytes[at], 8);
    std::memcpy(&crc, &bytes[at + 8], 4);
    EXPECT_EQ(crc, masked(&bytes[at], 8));
    EXPECT_LE(at + 16 + length, bytes.size());
    std::memcpy(&crc, &bytes[at + 12 + length], 4);
    EXPECT_EQ(crc, masked(&bytes[at + 12], length));
    records.push_back(bytes.substr(at + 12, length));
    at += 16 + length;
  }
  return records;
}

class EventWriterTest : public testing::Test {
 protected:
  EventWriterTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rondo-events-" + std::to_string(::getpid()))) {}
  ~EventWriterTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<EventWriter> open(const EventWriterOptions& options = {}) {
    return EventWriter::open(folder_.string(), options).value();
  }

  const std::filesystem::path folder_;
};

TEST_F(EventWriterTest, WritesWhatARunGave) {
  Graph g;
  Value x = placeholder(g, {.shape = {}, .name = "x"});
  Value summary = scalar_summary("loss", x);
  Session session(g);
  auto writer = open();
  writer->add_graph(g).value();
  for (int step = 0; step < 3; ++step)
    writer
        ->add_summary(
            session.run(summary, {{x, Tensor::full<float>(Shape{}, 1)}})
                .value(),
            step)
        .value();
  writer->flush().value();
  const auto records = records_of(writer->path());
  ASSERT_THAT(records, SizeIs(5));
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  EXPECT_THAT(records[1], HasSubstr("Placeholder"));
  EXPECT_THAT(records[4], HasSubstr("loss"));
  writer->close().value();
  writer->close().value();
  EXPECT_THAT(writer->add_summary("", 0).message(), HasSubstr("is closed"));
  EXPECT_THAT(writer->flush().message(), HasSubstr("is closed"));
}

TEST_F(EventWriterTest, WritersOfOneFolderHaveTheirOwnFiles) {
  auto a = open();
  auto b = open({.suffix = ".b"});
  auto c = open();
  EXPECT_NE(a->path(), c->path());
  EXPECT_THAT(b->path(), testing::EndsWith(".b"));
  EXPECT_EQ(std::filesystem::path(a->path()).parent_path(), folder_);
}

TEST_F(EventWriterTest, DestructionWritesTheRest) {
  auto writer = open();
  const std::string path = writer->path();
  writer->add_summary("last", 7).value();
  writer.reset();
  EXPECT_THAT(records_of(path).back(), HasSubstr("last"));
}

TEST_F(EventWriterTest, AFullQueueIsWrittenWithoutBeingAsked) {
  auto writer = open({.max_queue = 2});
  writer->add_summary("one", 0).value();
  writer->add_summary("two", 1).value();
  // Ends when the thread has written; the test's time-out says if it does not.
  while (std::filesystem::file_size(writer->path()) == 0)
    std::this_thread::yield();
}

TEST_F(EventWriterTest, ManyThreadsAdd) {
  auto writer = open({.max_queue = 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        writer->add_summary("from a thread", i).value();
        if (i % 20 == 0) writer->flush().value();
      }
    });
  for (std::thread& thread : threads) thread.join();
  writer->close().value();
  auto records = records_of(writer->path());
  ASSERT_THAT(records, SizeIs(201));
  records.erase(records.begin());
  EXPECT_THAT(records, Each(HasSubstr("from a thread")));
}

TEST_F(EventWriterTest, SaysWhereNoFileCanBe) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "file") << "x";
  auto under_a_file = EventWriter::open((folder_ / "file" / "logs").string());
  ASSERT_FALSE(under_a_file.ok());
  EXPECT_THAT(under_a_file.status().message(), HasSubstr("cannot make"));
}

TEST_F(EventWriterTest, RefusesATensorThatIsNoSummary) {
  EXPECT_THAT(open()->add_summary(Tensor::zeros({2}), 0).message(),
              HasSubstr("takes the u8 vector of a summary, not f32[2]"));
}

// The file system's answer to a file that has grown too large.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(EventWriterTest, AFailedWriteIsReportedAndLeavesWholeEvents) {
  auto writer = open();
  writer->add_summary("whole", 0).value();
  writer->flush().value();
  {
    const FileSizeLimit limit(1000);
    writer->add_summary(std::string(5000, 'x'), 1).value();
    EXPECT_THAT(writer->flush().message(), HasSubstr("cannot write"));
  }
  EXPECT_EQ(writer->add_summary("later", 2).code(), Code::kResource);
  EXPECT_EQ(writer->flush().code(), Code::kResource);
  EXPECT_EQ(writer->close().code(), Code::kResource);
  const auto records = records_of(writer->path());
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[1], HasSubstr("whole"));
}

}  // namespace
}  // namespace rondo
