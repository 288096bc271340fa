#include "rondo/tensor/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace rondo {
namespace {

using testing::HasSubstr;

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsTest() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "rondoXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "file.safetensors";
  }
  ~SafetensorsTest() override { std::filesystem::remove_all(folder_); }

  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& bytes) const {
    // A file system may sync a file that is written over.
    std::filesystem::remove(path_);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  // A file with this header and so many bytes of data.
  void put(const std::string& json, size_t data) const {
    uint64_t length = json.size();
    std::string head(8, '\0');
    std::memcpy(head.data(), &length, 8);
    put(head + json + std::string(data, 'x'));
  }
  std::string why_not() const {
    auto file = SafetensorsFile::open(path_);
    return file.ok() ? "it opens" : file.status().message();
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
  std::string path_;
};

Tensor floats(const Shape& shape) {
  Tensor t = Tensor::empty(shape);
  float x = 0;
  for (float& element : t.span<float>()) element = x++;
  return t;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

TEST_F(SafetensorsTest, EveryTypeAndBack) {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    Tensor t = Tensor::zeros({3, 1 + i}, dtype);
    for (size_t k = 0; k < t.bytes(); k += size_of(dtype))
      static_cast<char*>(t.data())[k] = 1;
    tensors.push_back({std::string(name_of(dtype)), t});
  }
  tensors.push_back({"scalar", Tensor::full<float>({}, 7)});
  tensors.push_back({"none", floats({2, 0, 3})});
  tensors.push_back({"a/long \"näme\" \n", floats({600000})});
  ASSERT_TRUE(write_safetensors(path_, tensors, {{"made by", "a test"}}).ok());
  EXPECT_EQ(files(), 1);

  auto file = SafetensorsFile::open(path_).value();
  EXPECT_EQ(file.metadata().at("made by"), "a test");
  ASSERT_EQ(file.entries().size(), tensors.size());
  for (const NamedTensor& named : tensors) {
    const SafetensorsEntry* entry = file.find(named.name);
    ASSERT_NE(entry, nullptr) << named.name;
    EXPECT_EQ(entry->begin % size_of(named.tensor.dtype()), 0) << named.name;
    EXPECT_TRUE(entry->crc.has_value());
    EXPECT_TRUE(same_bytes(file.read(named.name).value(), named.tensor))
        << named.name;
  }
  EXPECT_EQ(file.find("other"), nullptr);
  EXPECT_THAT(file.read("other").status().message(),
              HasSubstr("has no tensor \"other\""));
  uint64_t length;
  std::memcpy(&length, bytes().data(), 8);
  EXPECT_EQ((length + 8) % 64, 0);
}

TEST_F(SafetensorsTest, NamesThatCannotBe) {
  const Tensor t = floats({1});
  put("old");
  EXPECT_THAT(write_safetensors(path_, {{{"a", t}, {"a", t}}}).message(),
              HasSubstr("two tensors are to be saved as \"a\""));
  EXPECT_FALSE(write_safetensors(path_, {{{"__metadata__", t}}}).ok());
  EXPECT_FALSE(write_safetensors(path_, {{{"\xff", t}}}).ok());
  EXPECT_EQ(bytes(), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(SafetensorsTest, StoppingLeavesTheOldFile) {
  put("old");
  int asked = 0;
  const Status status =
      write_safetensors(path_, {{{"a", floats({1 << 20})}}}, {}, [&]() {
        return ++asked < 3 ? Status() : error(Code::kCancelled, "enough");
      });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(bytes(), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(SafetensorsTest, FilesOfOthersHaveNoChecksums) {
  put(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}   )", 2);
  auto file = SafetensorsFile::open(path_).value();
  EXPECT_EQ(file.read("a").value().to_string(), "u8[2] 120 120");
  // A type that we do not have is no obstacle to reading the others.
  put(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},
          "b":{"dtype":"U32","shape":[1],"data_offsets":[0,4]},
          "c":{"dtype":"NEW","shape":[9],"data_offsets":[6,7]}})",
      7);
  file = SafetensorsFile::open(path_).value();
  EXPECT_TRUE(file.read("a").ok());
  EXPECT_THAT(file.read("b").status().message(),
              HasSubstr("its elements are U32, a type that Rondo does not"));
  EXPECT_FALSE(file.read("c").ok());
  put(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  file = SafetensorsFile::open(path_).value();
  EXPECT_THAT(file.read("a").status().message(),
              HasSubstr("neither true nor false"));
}

TEST_F(SafetensorsTest, WhatIsNoFile) {
  EXPECT_THAT(why_not(), HasSubstr("No such file"));
  EXPECT_THAT(SafetensorsFile::open(folder_).status().message(),
              HasSubstr("it is a folder"));
  put("");
  EXPECT_THAT(why_not(), HasSubstr("it has only 0 bytes"));
  EXPECT_THAT(why_not(), HasSubstr(path_));
  put(std::string(8, '\xff'));
  EXPECT_THAT(why_not(), HasSubstr("its header should have"));
}

TEST_F(SafetensorsTest, HeadersThatMakeNoSense) {
  const auto refused = [&](const std::string& json, size_t data,
                           const std::string& why) {
    put(json, data);
    EXPECT_THAT(why_not(), HasSubstr(why)) << json;
    EXPECT_THAT(why_not(), HasSubstr(path_));
  };
  refused("[1, 2", 0, "no JSON");
  refused("[1, 2]", 0, "no object");
  refused(R"({"a": 1})", 0, "tensor \"a\": its description is no object");
  refused(R"({"a":{"shape":[],"data_offsets":[0,0]}})", 0, "its dtype");
  refused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}})", 0,
          "its shape");
  refused(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,0]}})", 0,
          "its shape");
  refused(R"({"a":{"dtype":"F32","shape":7,"data_offsets":[0,0]}})", 0,
          "its shape");
  refused(R"({"a":{"dtype":"F32","shape":[1]}})", 4, "its data_offsets");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
          "its data_offsets");
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
          "tensor \"a\": F32 [2] takes 8 bytes, but its data are 4 bytes");
  refused(
      R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],
          "data_offsets":[0,0]}})",
      0, "too many bytes");
  refused(
      R"({"a":{"dtype":"F32","shape":[99999999999999999999],
          "data_offsets":[0,0]}})",
      0, "its shape");
  refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4,
          "the file is not whole");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8,
          "there are 8 bytes of data");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
              "b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          4, "begin at byte 0");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
              "b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
          12, "begin at byte 8");
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
              "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          4, "has \"a\" twice");
  refused(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],
              "data_offsets":[0,4]}})",
          4, "has \"shape\" twice");
  refused(R"({"__metadata__": 3})", 0, "__metadata__");
  refused(R"({"__metadata__": {"x": 3}})", 0, "__metadata__");
  refused(R"({"__metadata__": {"crc32c:a": "what"}})", 0, "its checksum");
  refused(std::string(100000, '['), 0, "no JSON");
}

TEST_F(SafetensorsTest, DamagedDataAreFound) {
  ASSERT_TRUE(
      write_safetensors(path_, {{{"a", floats({100})}, {"b", floats({3})}}})
          .ok());
  std::string damaged = bytes();
  damaged[damaged.size() - 50] ^= 4;  // in "a"
  put(damaged);
  auto file = SafetensorsFile::open(path_).value();
  const std::string why = file.read("a").status().message();
  EXPECT_THAT(why, HasSubstr("tensor \"a\" of " + path_));
  EXPECT_THAT(why, HasSubstr("its checksum is wrong"));
  EXPECT_TRUE(file.read("b").ok());
}

// Whatever happens to a file, it never crashes, and reading a tensor whose
// description is still there gives what was written or an error.
TEST_F(SafetensorsTest, AnyDamageIsAnError) {
  const std::vector<NamedTensor> tensors = {
      {"weights", floats({5, 7})},
      {"flags", Tensor::full<bool>({9}, true)},
      {"steps", Tensor::full<int64_t>({}, 12)}};
  ASSERT_TRUE(write_safetensors(path_, tensors).ok());
  const std::string whole = bytes();
  const auto original = SafetensorsFile::open(path_).value();  // stays open
  std::mt19937 random(3);
  int found = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::string damaged = whole;
    if (round % 3 == 0) damaged.resize(random() % whole.size());
    const size_t flips = round % 3 == 0 ? random() % 2 : 1 + random() % 4;
    for (size_t i = 0; i < flips && !damaged.empty(); ++i)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    put(damaged);
    auto file = SafetensorsFile::open(path_);
    if (!file.ok()) {
      EXPECT_THAT(file.status().message(), HasSubstr(path_));
      ++found;
      continue;
    }
    for (const SafetensorsEntry& entry : file->entries()) {
      auto read = file->read(entry.name);
      if (!read.ok()) {
        ++found;
        continue;
      }
      const SafetensorsEntry* before = original.find(entry.name);
      if (before && entry.crc && entry.type == before->type &&
          entry.shape == before->shape) {
        EXPECT_TRUE(same_bytes(*read, original.read(entry.name).value()));
      }
    }
  }
  EXPECT_GT(found, kRounds / 2);
}

}  // namespace
}  // namespace rondo
