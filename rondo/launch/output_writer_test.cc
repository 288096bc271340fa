#include "rondo/launch/output_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "rondo/transport/socket.h"

namespace rondo {
namespace {

class OutputWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_ = Fd(ends[0]);
    write_ = Fd(ends[1]);
    writer_ = OutputWriter::start(write_.get()).value();
  }

  // Until the writer has made progress; bounded.
  void wait_for_event() {
    pollfd event{writer_->event_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&event, 1, 20'000), 1);
    writer_->clear_event();
  }

  std::string read_bytes(size_t count) {
    std::string bytes(count, '\0');
    size_t have = 0;
    while (have < count) {
      const ssize_t got = read(read_.get(), bytes.data() + have, count - have);
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }

  Fd read_;
  Fd write_;
  std::unique_ptr<OutputWriter> writer_;
};

TEST_F(OutputWriterTest, NeverBlocksAndKeepsTheOrder) {
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece = std::to_string(i) + std::string(5000, 'x');
    writer_->write(piece);  // far more than a pipe holds, nobody reads yet
    all += piece;
  }
  EXPECT_GT(writer_->queued(), all.size() / 2);
  EXPECT_EQ(read_bytes(all.size()), all);
  while (writer_->queued() > 0) wait_for_event();
  EXPECT_FALSE(writer_->broken());
}

TEST_F(OutputWriterTest, ReaderThatLeavesIsNoticed) {
  writer_->write(std::string(1 << 20, 'x'));
  EXPECT_EQ(read_bytes(10), std::string(10, 'x'));
  read_.reset();
  while (!writer_->broken()) wait_for_event();
  writer_->write("more");
  EXPECT_EQ(writer_->queued(), 0u);
}

TEST_F(OutputWriterTest, DescriptorsThatDoNotBlockAreFine) {
  ASSERT_EQ(fcntl(write_.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string all(1 << 20, 'y');
  writer_->write(all);
  EXPECT_EQ(read_bytes(all.size()), all);
}

}  // namespace
}  // namespace rondo
