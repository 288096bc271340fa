// Data sets from files, good and bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "rondo/base/crc32c.h"
#include "rondo/train/dataset.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "rondo_files_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  Dataset file(const std::string& name, std::string_view contents) const {
    std::ofstream out(path(name), std::ios::binary);
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    return Dataset::paths({path(name)});
  }
  Dataset gzip(const std::string& name, std::string_view contents) const {
    gzFile out = gzopen(path(name).c_str(), "wb");
    EXPECT_EQ(
        gzwrite(out, contents.data(), static_cast<unsigned>(contents.size())),
        static_cast<int>(contents.size()));
    EXPECT_EQ(gzclose(out), Z_OK);
    return Dataset::paths({path(name)});
  }

 private:
  std::string folder_;
};

std::string text_of(const DataElement& element) {
  return {static_cast<const char*>(element[0].data()), element[0].bytes()};
}

// The records, and the message of a failure where there is one.
std::vector<std::string> read(const Dataset& dataset) {
  std::vector<std::string> records;
  DatasetIterator it = dataset.iterate();
  for (;;) {
    NextElement element = it.next();
    if (!element.ok()) {
      EXPECT_EQ(element.status().code(), Code::kInvalidArgument);
      records.push_back(element.status().message());
    } else if (*element) {
      records.push_back(text_of(**element));
    } else {
      return records;
    }
  }
}

std::string record(std::string_view data) {
  auto masked = [](std::string_view bytes) {
    const uint32_t crc = crc32c(bytes.data(), bytes.size());
    const uint32_t value = ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
    return std::string(reinterpret_cast<const char*>(&value), 4);
  };
  const uint64_t length = data.size();
  const std::string head(reinterpret_cast<const char*>(&length), 8);
  return head + masked(head) + std::string(data) + masked(data);
}

TEST_F(Files, Lines) {
  EXPECT_THAT(read(Dataset::text_line(file("a", "one\ntwo\r\n\nfour"))),
              ElementsAre("one", "two", "", "four"));
  EXPECT_THAT(read(Dataset::text_line(file("b", "one\n"))), ElementsAre("one"));
  EXPECT_THAT(read(Dataset::text_line(file("c", ""))), IsEmpty());
}

TEST_F(Files, LinesThatAreLongerThanAPiece) {
  const std::string x(700'000, 'x');
  const std::string y(300'000, 'y');
  EXPECT_THAT(read(Dataset::text_line(file("a", x + "\n" + y + "\nz"))),
              ElementsAre(x, y, "z"));
}

TEST_F(Files, SeveralAndByPattern) {
  (void)file("part-1", "c\n");
  (void)file("part-0", "a\nb\n");
  (void)file("other", "d\n");
  EXPECT_THAT(read(Dataset::text_line(Dataset::list_files(path("part-*")))),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(
      read(Dataset::text_line(Dataset::list_files(path("part-*")).shard(2, 1))),
      ElementsAre("c"));
  EXPECT_THAT(
      Dataset::list_files(path("no-*")).iterate().next().status().message(),
      AllOf(HasSubstr("Dataset.list_files"), HasSubstr("no file matches"),
            HasSubstr("no-*")));
}

TEST_F(Files, FixedLength) {
  auto fixed = [&](const std::string& contents, FixedLengthOptions options) {
    return read(Dataset::fixed_length_record(file("a", contents), options));
  };
  EXPECT_THAT(fixed("abcdef", {.record_bytes = 3}), ElementsAre("abc", "def"));
  EXPECT_THAT(fixed("##abcdef#",
                    {.record_bytes = 3, .header_bytes = 2, .footer_bytes = 1}),
              ElementsAre("abc", "def"));
  EXPECT_THAT(fixed("", {.record_bytes = 3}), IsEmpty());
  EXPECT_THAT(
      fixed("abcde", {.record_bytes = 3}),
      ElementsAre("abc", AllOf(HasSubstr(path("a")),
                               HasSubstr("the record at offset 3 is cut off: 2 "
                                         "of its 3 bytes are there"))));
  EXPECT_THAT(fixed("ab", {.record_bytes = 3, .header_bytes = 4}),
              ElementsAre(HasSubstr("the header is cut off: 2 of its 4")));
  EXPECT_THAT(fixed("##a", {.record_bytes = 3, .footer_bytes = 4}),
              ElementsAre(HasSubstr("the footer at offset 0 is cut off")));
  EXPECT_THROW(
      (void)Dataset::fixed_length_record(file("a", ""), {.record_bytes = 0}),
      Error);
  EXPECT_EQ(Dataset::fixed_length_record(file("a", ""), {.record_bytes = 3})
                .types()[0]
                .shape,
            PartialShape({3}));
}

TEST_F(Files, Gzip) {
  const FixedLengthOptions options = {.record_bytes = 3,
                                      .compression = Compression::kGzip};
  std::string contents;
  for (uint64_t i = 0; i < 300'000; ++i)
    contents += static_cast<char>(i * i % 251);
  const auto whole =
      read(Dataset::fixed_length_record(gzip("a", contents), options));
  EXPECT_EQ(whole, read(Dataset::fixed_length_record(file("b", contents),
                                                     {.record_bytes = 3})));
  // Cut off in the middle, and not compressed at all.
  std::filesystem::resize_file(path("a"),
                               std::filesystem::file_size(path("a")) / 2);
  const auto half =
      read(Dataset::fixed_length_record(Dataset::paths({path("a")}), options));
  EXPECT_THAT(half.back(), AllOf(HasSubstr(path("a")), HasSubstr("offset"),
                                 HasSubstr("is cut off")));
  EXPECT_THAT(read(Dataset::fixed_length_record(file("c", "abc"), options)),
              ElementsAre(HasSubstr("not a gzip file")));
}

TEST_F(Files, TfRecords) {
  const std::string good = record("hello") + record("") + record("world");
  EXPECT_THAT(read(Dataset::tf_record(file("a", good))),
              ElementsAre("hello", "", "world"));
  EXPECT_THAT(read(Dataset::tf_record(gzip("z", good), Compression::kGzip)),
              ElementsAre("hello", "", "world"));
}

TEST_F(Files, TfRecordsWithACutOffEnd) {
  const std::string good = record("hello") + record("world");
  // 21 bytes a record: within the second one's head, data and checksum.
  for (const size_t left : {21U + 5U, 21U + 14U, 21U + 19U})
    EXPECT_THAT(read(Dataset::tf_record(file("a", good.substr(0, left)))),
                ElementsAre("hello", AllOf(HasSubstr("the record at offset 21 "
                                                     "is cut off"),
                                           HasSubstr(path("a")))))
        << left;
}

TEST_F(Files, TfRecordsThatAreDamaged) {
  const std::string good = record("hello") + record("world");
  auto with_flip = [&](size_t at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    return read(Dataset::tf_record(file("a", bad)));
  };
  EXPECT_THAT(with_flip(21 + 2),
              ElementsAre("hello", HasSubstr("the record at offset 21 is "
                                             "damaged: the checksum of its "
                                             "length is wrong")));
  EXPECT_THAT(with_flip(21 + 14),
              ElementsAre("hello", HasSubstr("the checksum of its data")));
  EXPECT_THAT(with_flip(21 + 18),
              ElementsAre("hello", HasSubstr("the checksum of its data")));
}

TEST_F(Files, TfRecordsOfAnAbsurdLength) {
  // The checksum is right, the data is not there: no memory is taken for it.
  const uint64_t length = uint64_t{1} << 50;
  std::string bad = record("");
  std::memcpy(bad.data(), &length, 8);
  const uint32_t crc = crc32c(bad.data(), 8);
  const uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
  std::memcpy(bad.data() + 8, &masked, 4);
  EXPECT_THAT(read(Dataset::tf_record(file("a", bad))),
              ElementsAre(HasSubstr("is cut off")));
}

TEST_F(Files, ThatAreMissingOrFolders) {
  const Dataset lines = Dataset::text_line(
      Dataset::paths({path("missing")}).concatenate(file("there", "x\n")));
  EXPECT_THAT(
      read(lines),
      ElementsAre(AllOf(HasSubstr("Dataset.text_line, element 0"),
                        HasSubstr(path("missing")), HasSubstr("No such file")),
                  "x"));
  EXPECT_THAT(read(Dataset::text_line(Dataset::paths({path("")}))),
              ElementsAre(HasSubstr("is a folder")));
  EXPECT_THROW((void)Dataset::text_line(Dataset::range(3)), Error);
}

}  // namespace
}  // namespace rondo
