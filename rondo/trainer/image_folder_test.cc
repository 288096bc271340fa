#include "rondo/trainer/image_folder.h"

#include <gmock/gmock.h>

#include <thread>

#include "rondo/trainer/batches.h"
#include "rondo/trainer/data_source.h"
#include "rondo/trainer/test_files.h"
#include "rondo/trainer/test_images.h"

namespace rondo {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// `count` images of this brightness in a folder, or each so much brighter than
// the one before.
void write_class(const DataFolder& folder, const std::string& name, int count,
                 int brightness, int brighter = 0) {
  std::filesystem::create_directories(folder.path() + "/" + name);
  for (int i = 0; i < count; ++i) {
    const int own = brightness + i * brighter;
    folder.write(fmt::format("{}/{}.png", name, i),
                 png_bytes(test_image(9, 8, own, own, own)));
  }
}

// Counts what the thread that made it has to read itself.
class CountingReader final : public ExampleReader {
 public:
  explicit CountingReader(std::shared_ptr<const ExampleReader> reader)
      : reader_(std::move(reader)) {}
  Shape shape() const override { return reader_->shape(); }
  uint32_t checksum() const override { return reader_->checksum(); }
  Status read(int64_t row, std::span<uint8_t> into) const override {
    if (std::this_thread::get_id() == owner_) ++own_;
    return reader_->read(row, into);
  }
  int own() const { return own_; }

 private:
  const std::shared_ptr<const ExampleReader> reader_;
  const std::thread::id owner_ = std::this_thread::get_id();
  mutable int own_ = 0;  // the owner's alone
};

Result<TrainingData> load(const DataFolder& folder) {
  return load_data({.data = folder.path(), .side = 4, .channels = 3});
}

std::string said(const DataFolder& folder) {
  const auto data = load(folder);
  return data.ok() ? "ok" : data.status().message();
}

TEST(ImageFolder, ClassesAreFolders) {
  const DataFolder folder;
  for (const char* part : {"train", "test"}) {
    write_class(folder, fmt::format("{}/dark", part), 3, 0);
    write_class(folder, fmt::format("{}/bright", part), 2, 255);
  }
  folder.write("train/dark/README", "not an image by its name");
  const TrainingData data = load(folder).value();
  EXPECT_EQ(data.classes, 2);
  EXPECT_EQ(data.train.input_shape(), (Shape{5, 4, 4, 3}));
  EXPECT_EQ(data.test.count(), 5);
  // By name: bright is the first class.
  const Batch batch = make_batch(data.train, data.kind, 1, 3).value();
  EXPECT_THAT(batch.labels.span<int64_t>(), ElementsAre(0, 1));
  EXPECT_THAT(batch.inputs.span<float>().first(48), Each(1.0F));
  EXPECT_THAT(batch.inputs.span<float>().last(48), Each(0.0F));
}

TEST(ImageFolder, ATenthIsForTheTest) {
  const DataFolder folder;
  write_class(folder, "dark", 25, 0);
  write_class(folder, "bright", 4, 255);
  const TrainingData data = load(folder).value();
  EXPECT_EQ(data.train.count(), 23 + 3);
  EXPECT_EQ(data.test.count(), 2 + 1);
  const Batch test = make_batch(data.test, data.kind, 0, 3).value();
  EXPECT_THAT(test.labels.span<int64_t>(), ElementsAre(0, 1, 1));
}

// What is read while a step runs is what it would be otherwise.
TEST(ImageFolder, BatchesAreReadAhead) {
  const DataFolder folder;
  write_class(folder, "dark", 8, 0, 5);
  write_class(folder, "bright", 8, 255, -5);
  const TrainingData data = load(folder).value();
  const auto reader = std::make_shared<CountingReader>(data.train.reader);
  Examples counted = data.train;
  counted.reader = reader;
  Batches batches(counted, data.kind, 4, 1);
  // The first two images, and those of steps that do not follow the one before.
  const std::pair<int64_t, int> steps[] = {{0, 2}, {1, 2}, {2, 2}, {3, 2},
                                           {4, 2}, {2, 4}, {9, 6}};
  for (const auto& [step, own] : steps) {
    const Batch batch = batches.share(step, 1, 2).value();
    EXPECT_EQ(reader->own(), own) << step;
    const auto rows = batches.rows(step, 1, 2);
    const Batch wanted = make_batch(data.train, data.kind, rows).value();
    EXPECT_TRUE(std::ranges::equal(batch.inputs.span<float>(),
                                   wanted.inputs.span<float>()));
    EXPECT_TRUE(std::ranges::equal(batch.labels.span<int64_t>(),
                                   wanted.labels.span<int64_t>()));
  }
}

TEST(ImageFolder, WhatIsWrongIsNamed) {
  const DataFolder folder;
  write_class(folder, "train/dark", 2, 0);
  write_class(folder, "train/bright", 2, 255);
  EXPECT_THAT(said(folder), HasSubstr("test\" cannot be read: No such file"));
  write_class(folder, "test/dark", 2, 0);
  EXPECT_THAT(said(folder), HasSubstr("only one of them has bright"));
  write_class(folder, "test/bright", 0, 255);
  EXPECT_THAT(said(folder), HasSubstr("test/bright\" has no .jpg or .png"));
  write_class(folder, "test/bright", 1, 255);
  EXPECT_EQ(said(folder), "ok");
  folder.write("test/bright/x.JPG", "text");
  EXPECT_THAT(said(folder),
              HasSubstr("test/bright/x.JPG\" is neither a JPEG nor a PNG"));
}

TEST(ImageFolder, ADamagedFileIsNamedWhenItIsRead) {
  const DataFolder folder;
  write_class(folder, "dark", 3, 0);
  write_class(folder, "bright", 3, 255);
  const std::string whole = png_bytes(test_image(9, 8, 1, 2, 3));
  folder.write("dark/0.png", whole.substr(0, whole.size() - 20));
  const TrainingData data = load(folder).value();
  Batches batches(data.train, data.kind, 4, 1);
  EXPECT_THAT(batches.share(0, 0, 1).status().message(),
              HasSubstr("dark/0.png\": a damaged PNG image: "));
}

}  // namespace
}  // namespace rondo
