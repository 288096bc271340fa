#include "rondo/base/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "rondo/base/crc32c_hardware.h"

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

TEST(Crc32c, TheProcessorComputesWhatTheTablesDo) {
  const Crc32cLoop loop = hardware_crc32c();
  if (!loop) GTEST_SKIP() << "this processor has no such instruction";
  std::mt19937 random(1);
  std::vector<unsigned char> bytes(1000);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  for (size_t from = 0; from < 9; ++from)
    for (size_t n = 0; n < 70; ++n)
      EXPECT_EQ(loop(bytes.data() + from, n, 77),
                table_crc32c(bytes.data() + from, n, 77));
}

}  // namespace
}  // namespace rondo
