#include "rondo/ps/shards.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rondo {
namespace {

std::vector<int64_t> loads(const std::vector<Key>& keys, int servers) {
  const auto parts = split_keys(keys, {.servers = servers});
  std::vector<int64_t> bytes(static_cast<size_t>(servers));
  for (size_t i = 0; i < keys.size(); ++i)
    for (const KeyPart& part : parts[i])
      bytes[static_cast<size_t>(part.server)] +=
          part.count() * static_cast<int64_t>(size_of(keys[i].dtype));
  return bytes;
}

double unevenness(const std::vector<Key>& keys, int servers) {
  const auto bytes = loads(keys, servers);
  const auto [low, high] = std::minmax_element(bytes.begin(), bytes.end());
  return static_cast<double>(*high) / static_cast<double>(*low);
}

std::vector<Key> keys_of(const std::vector<Shape>& shapes) {
  std::vector<Key> keys;
  for (const Shape& shape : shapes)
    keys.push_back({fmt::format("k{}", keys.size()), DType::kF32, shape});
  return keys;
}

std::vector<Key> lenet() {
  return keys_of({{5, 5, 1, 6},
                  {6},
                  {5, 5, 6, 16},
                  {16},
                  {400, 120},
                  {120},
                  {120, 84},
                  {84},
                  {84, 10},
                  {10}});
}
std::vector<Key> vgg16() {
  return keys_of({{3, 3, 3, 64},
                  {64},
                  {3, 3, 64, 64},
                  {64},
                  {3, 3, 64, 128},
                  {128},
                  {3, 3, 512, 512},
                  {512},
                  {25088, 4096},
                  {4096},
                  {4096, 4096},
                  {4096},
                  {4096, 1000},
                  {1000}});
}

TEST(Shards, ServersHaveAsManyBytes) {
  for (const int servers : {1, 2, 3, 4, 7, 16})
    for (const auto& keys : {lenet(), vgg16(), keys_of({{1 << 20}}),
                             keys_of(std::vector<Shape>(1000, Shape{100}))})
      EXPECT_LE(unevenness(keys, servers), 1.05)
          << servers << " servers, " << keys.size() << " keys";
}

TEST(Shards, RowsStayWhole) {
  auto keys = vgg16();
  keys.push_back({"embedding", DType::kF32, {30'000, 300}, true});
  EXPECT_LE(unevenness(keys, 3), 1.05);
  const auto parts = split_keys(keys, {.servers = 3}).back();
  ASSERT_EQ(parts.size(), 3u);
  for (const KeyPart& part : parts) {
    EXPECT_EQ(part.begin % 300, 0);
    EXPECT_EQ(part.end % 300, 0);
  }
}

// Every element is in one part, and parts are in order.
TEST(Shards, PartsMakeUpTheKey) {
  auto keys = vgg16();
  keys.push_back({"one", DType::kF64, {}, false});
  keys.push_back({"none", DType::kF32, {0, 4}, false});
  keys.push_back({"rows", DType::kF32, {5, 7}, true});
  for (const int servers : {1, 2, 5}) {
    const ShardOptions options{.servers = servers, .most_part_bytes = 1 << 20};
    const auto parts = split_keys(keys, options);
    ASSERT_EQ(parts.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_FALSE(parts[i].empty()) << keys[i].name;
      int64_t at = 0;
      for (const KeyPart& part : parts[i]) {
        EXPECT_EQ(part.begin, at);
        at = part.end;
        EXPECT_LE(part.count() * 4, 1 << 20);
      }
      EXPECT_EQ(at, keys[i].shape.count()) << keys[i].name;
    }
    EXPECT_EQ(parts, split_keys(keys, options));
  }
}

}  // namespace
}  // namespace rondo
