#include "rondo/trainer/cifar_files.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "rondo/train/data/input_file.h"

namespace rondo {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kPixels = kSide * kSide;
constexpr int64_t kRecord = 1 + 3 * kPixels;
constexpr int kClasses = 10;
constexpr int kBatches = 5;  // as it comes

using Record = std::array<uint8_t, kRecord>;

std::string file_of(const std::string& folder, int number) {
  return fmt::format("{}/data_batch_{}.bin", folder, number);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Status read_records(const std::string& path, std::vector<Record>& records) {
  RONDO_ASSIGN_OR_RETURN(const auto file,
                         InputFile::open(path, Compression::kNone));
  const size_t before = records.size();
  for (;;) {
    Record record;
    RONDO_ASSIGN_OR_RETURN(const size_t got,
                           file->read(record.data(), record.size()));
    if (got == 0) break;
    if (got != record.size())
      return error(Code::kInvalidArgument,
                   "\"{}\" is cut off: its last record has {} of {} bytes",
                   path, got, kRecord);
    if (record[0] >= kClasses)
      return error(Code::kInvalidArgument,
                   "\"{}\" is not of CIFAR-10: record {} has label {}, and "
                   "there are {} classes",
                   path, records.size() - before, record[0], kClasses);
    records.push_back(record);
  }
  if (records.size() == before)
    return error(Code::kInvalidArgument, "\"{}\" is empty", path);
  return {};
}

// Channels last, as the models take them.
Examples examples_of(const std::vector<Record>& records) {
  const auto count = static_cast<int64_t>(records.size());
  Examples made{Tensor::empty({count, kSide, kSide, 3}, DType::kU8),
                Tensor::empty({count}, DType::kU8)};
  uint8_t* pixel = made.inputs.span<uint8_t>().data();
  uint8_t* label = made.labels.span<uint8_t>().data();
  for (const Record& record : records) {
    *label++ = record[0];
    for (int64_t i = 0; i < kPixels; ++i)
      for (int64_t channel = 0; channel < 3; ++channel)
        *pixel++ = record[static_cast<size_t>(1 + channel * kPixels + i)];
  }
  return made;
}

}  // namespace

bool has_cifar_files(const std::string& folder) {
  return exists(file_of(folder, 1));
}

Result<TrainingData> load_cifar_files(const std::string& folder) {
  std::vector<Record> records;
  int number = 1;
  for (; number == 1 || exists(file_of(folder, number)); ++number)
    RONDO_RETURN_IF_ERROR(read_records(file_of(folder, number), records));
  // Fewer are good, but not some of them.
  for (int later = number + 1; later <= kBatches; ++later)
    if (exists(file_of(folder, later)))
      return error(Code::kInvalidArgument,
                   "there is no \"{}\", but data_batch_{}.bin is there: "
                   "unpack CIFAR-10 again",
                   file_of(folder, number), later);
  TrainingData data{.name = folder, .classes = kClasses};
  data.train = examples_of(records);
  records.clear();
  RONDO_RETURN_IF_ERROR(read_records(folder + "/test_batch.bin", records));
  data.test = examples_of(records);
  return data;
}

}  // namespace rondo
