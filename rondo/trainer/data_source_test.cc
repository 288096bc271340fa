#include "rondo/trainer/data_source.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "rondo/trainer/cifar_files.h"
#include "rondo/trainer/idx_files.h"
#include "rondo/trainer/synthetic.h"
#include "rondo/trainer/test_files.h"
#include "rondo/trainer/text_file.h"

namespace rondo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void write_idx_files(const DataFolder& folder) {
  folder.write("train-images-idx3-ubyte", idx_bytes({6, 2, 3}));
  folder.write("train-labels-idx1-ubyte", idx_bytes({6}, 3));
  folder.write("t10k-images-idx3-ubyte", idx_bytes({4, 2, 3}));
  folder.write("t10k-labels-idx1-ubyte", idx_bytes({4}, 3));
}

std::string message(const Result<TrainingData>& data) {
  return data.ok() ? "ok" : data.status().message();
}

TEST(IdxFiles, AreRead) {
  const DataFolder folder;
  write_idx_files(folder);
  const TrainingData data = load_data({.data = folder.path()}).value();
  EXPECT_EQ(data.train.inputs.shape(), (Shape{6, 2, 3, 1}));
  EXPECT_EQ(data.train.inputs.span<uint8_t>()[7], 7);
  EXPECT_EQ(data.train.labels.span<uint8_t>()[4], 1);
  EXPECT_EQ(data.test.count(), 4);
  EXPECT_EQ(data.classes, 3);
}

TEST(IdxFiles, MayBeCompressed) {
  const DataFolder folder;
  write_idx_files(folder);
  const std::string plain = folder.path() + "/train-images-idx3-ubyte";
  const std::string bytes = idx_bytes({6, 2, 3});
  gzFile file = gzopen((plain + ".gz").c_str(), "wb");
  ASSERT_NE(file, nullptr);
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::filesystem::remove(plain);
  const TrainingData data = load_data({.data = folder.path()}).value();
  EXPECT_EQ(data.train.inputs.span<uint8_t>()[35], 35);
}

TEST(IdxFiles, DamagedOnesAreNamed) {
  const DataFolder folder;
  const std::string whole = idx_bytes({6, 2, 3});
  const auto said = [&](const std::string& bytes) {
    const auto read = read_idx_file(folder.write("images", bytes), 3);
    return read.ok() ? "ok" : read.status().message();
  };
  EXPECT_EQ(said(whole), "ok");
  EXPECT_THAT(said(""), HasSubstr("images\" is not an idx file"));
  EXPECT_THAT(said(idx_bytes({6})), HasSubstr("with 3 axes"));
  EXPECT_THAT(said(whole.substr(0, 9)), HasSubstr("ends within its head"));
  EXPECT_THAT(said(whole.substr(0, whole.size() - 1)),
              HasSubstr("cut off: 35 of 36 bytes"));
  EXPECT_THAT(said(whole + "x"), HasSubstr("longer than its head says"));
  // Extents whose product no memory has.
  EXPECT_THAT(said(std::string("\0\0\10\3", 4) + std::string(12, '\xff')),
              HasSubstr("cannot be right"));
}

TEST(IdxFiles, ImagesAndLabelsMustFit) {
  const DataFolder folder;
  write_idx_files(folder);
  folder.write("train-labels-idx1-ubyte", idx_bytes({5}, 3));
  EXPECT_THAT(message(load_data({.data = folder.path()})),
              HasSubstr("has 6 images"));
  write_idx_files(folder);
  folder.write("t10k-images-idx3-ubyte", idx_bytes({4, 3, 3}));
  EXPECT_THAT(message(load_data({.data = folder.path()})),
              HasSubstr("test images 3 x 3"));
}

// A record whose pixels of channel c are all c + 1.
std::string cifar_record(char label) {
  std::string bytes(1, label);
  for (char channel = 1; channel <= 3; ++channel)
    bytes += std::string(1024, channel);
  return bytes;
}

TEST(CifarFiles, AreRead) {
  const DataFolder folder;
  folder.write("data_batch_1.bin", cifar_record(3) + cifar_record(9));
  folder.write("data_batch_2.bin", cifar_record(1));
  folder.write("test_batch.bin", cifar_record(4));
  const TrainingData data = load_data({.data = folder.path()}).value();
  EXPECT_EQ(data.train.inputs.shape(), (Shape{3, 32, 32, 3}));
  EXPECT_THAT(data.train.labels.span<uint8_t>(), ElementsAre(3, 9, 1));
  EXPECT_THAT(data.train.inputs.span<uint8_t>().last(3), ElementsAre(1, 2, 3));
  EXPECT_EQ(data.test.count(), 1);
}

TEST(CifarFiles, DamagedOnesAreNamed) {
  const DataFolder folder;
  folder.write("test_batch.bin", cifar_record(4));
  const auto said = [&](const std::string& bytes) {
    folder.write("data_batch_1.bin", bytes);
    return message(load_cifar_files(folder.path()));
  };
  EXPECT_EQ(said(cifar_record(0)), "ok");
  EXPECT_THAT(said(""), HasSubstr("data_batch_1.bin\" is empty"));
  EXPECT_THAT(said(cifar_record(0) + "x"), HasSubstr("1 of 3073 bytes"));
  EXPECT_THAT(said(cifar_record(0) + cifar_record(10)),
              HasSubstr("record 1 has label 10"));
}

TEST(CifarFiles, AMissingOneIsNamed) {
  const DataFolder folder;
  for (const char* name :
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_5.bin"})
    folder.write(name, cifar_record(1));
  folder.write("test_batch.bin", cifar_record(4));
  EXPECT_THAT(message(load_cifar_files(folder.path())),
              HasSubstr("data_batch_3.bin\", but data_batch_5.bin is there"));
}

TEST(TextFile, IsCutIntoPieces) {
  const DataFolder folder;
  const std::string path = folder.write("text", "abcdefghijk");
  const TrainingData data = load_text_file(path, 2).value();
  EXPECT_EQ(data.train.count(), 4);
  EXPECT_EQ(data.test.count(), 1);
  EXPECT_EQ(data.train.inputs.span<uint8_t>()[2], 'c');
  EXPECT_EQ(data.train.labels.span<uint8_t>()[2], 'd');
  EXPECT_THAT(data.test.labels.span<uint8_t>(), ElementsAre('j', 'k'));
  EXPECT_THAT(message(load_text_file(path, 8)),
              HasSubstr("has 11 bytes, and training takes two pieces of 8"));
  EXPECT_THAT(message(load_text_file(folder.write("none", ""), 8)),
              HasSubstr("has 0 bytes"));
}

TEST(Synthetic, IsTheSameEveryTime) {
  const SyntheticImages options{.side = 4, .train = 8, .test = 2};
  const TrainingData one = synthetic_images(options);
  const TrainingData two = synthetic_images(options);
  EXPECT_TRUE(std::ranges::equal(one.train.inputs.span<uint8_t>(),
                                 two.train.inputs.span<uint8_t>()));
  EXPECT_EQ(one.train.inputs.shape(), (Shape{8, 4, 4, 1}));
  EXPECT_EQ(synthetic_text(1000, 10).value().kind, ExampleKind::kText);
}

TEST(DataSource, SaysWhatIsMissing) {
  const DataFolder folder;
  const auto said = [](const std::string& data) {
    return find_data({.data = data}).message();
  };
  EXPECT_THAT(said("fashion-mnits"), HasSubstr("there are fashion-mnist"));
  EXPECT_THAT(said(folder.path()), HasSubstr("train-images-idx3-ubyte"));
  EXPECT_THAT(said("cifar10"), HasSubstr("no Debian package"));
  EXPECT_EQ(said("synthetic"), "");
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    EXPECT_THAT(said("fashion-mnist"),
                HasSubstr("apt-get install dataset-fashion-mnist"));
  }
}

}  // namespace
}  // namespace rondo
