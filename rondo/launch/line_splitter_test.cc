#include "rondo/launch/line_splitter.h"

#include <gtest/gtest.h>

#include <vector>

namespace rondo {
namespace {

// Lines as they come, pieces of over-long ones marked with '+'.
std::vector<std::string> feed(LineSplitter& splitter, std::string_view bytes) {
  std::vector<std::string> lines;
  splitter.feed(bytes, [&](std::string_view text, bool ended) {
    lines.push_back(std::string(text) + (ended ? "" : "+"));
  });
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineSplitter, LinesAreWholeHoweverTheyArrive) {
  LineSplitter splitter;
  EXPECT_EQ(feed(splitter, "one\ntwo\nthr"), (Lines{"one", "two"}));
  EXPECT_EQ(feed(splitter, "ee"), Lines{});
  EXPECT_EQ(feed(splitter, "\n\nfour"), (Lines{"three", ""}));
  EXPECT_EQ(splitter.take_rest(), "four");
  EXPECT_EQ(splitter.take_rest(), "");
}

TEST(LineSplitter, ZeroAndHighBytesStay) {
  LineSplitter splitter;
  const std::string binary("\0\xff\r\x1b", 4);
  EXPECT_EQ(feed(splitter, binary + "\n" + binary), Lines{binary});
  EXPECT_EQ(splitter.take_rest(), binary);
}

TEST(LineSplitter, MegabytesInSmallChunksAreOneLine) {
  LineSplitter splitter;
  const std::string chunk(4096, 'x');
  for (int i = 0; i < 512; ++i) ASSERT_EQ(feed(splitter, chunk), Lines{});
  const Lines lines = feed(splitter, "\n");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].size(), 512u * 4096);
}

TEST(LineSplitter, WithoutLineEndsMemoryStaysBounded) {
  LineSplitter splitter(8);
  EXPECT_EQ(feed(splitter, "12345"), Lines{});
  EXPECT_EQ(feed(splitter, "6789"), Lines{"123456789+"});
  EXPECT_EQ(feed(splitter, "ab\n"), Lines{"ab"});
}

}  // namespace
}  // namespace rondo
