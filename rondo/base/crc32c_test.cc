#include "rondo/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace rondo {
namespace {

// From RFC 3720, appendix B.4.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789", 9), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0').data(), 32), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF').data(), 32), 0x62A8AB43u);
}

TEST(Crc32c, InPieces) {
  const std::string text = "a longer text, to be divided at every place";
  const uint32_t whole = crc32c(text.data(), text.size());
  for (size_t i = 0; i <= text.size(); ++i)
    EXPECT_EQ(crc32c(text.data() + i, text.size() - i, crc32c(text.data(), i)),
              whole);
}

}  // namespace
}  // namespace rondo
