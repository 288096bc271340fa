#include "rondo/train/data/record_reader.h"

#include <algorithm>
#include <cstring>

#include "rondo/base/crc32c.h"
#include "rondo/train/data/component.h"

namespace rondo {
namespace {

Status cut_off(const InputFile& file, uint64_t offset, size_t got,
               uint64_t wanted) {
  return error(Code::kInvalidArgument,
               "\"{}\": the record at offset {} is cut off: {} of its {} bytes "
               "are there",
               file.path(), offset, got, wanted);
}

// Lines end with "\n" or "\r\n"; the last one may lack it.
class LineReader final : public RecordReader {
 public:
  explicit LineReader(std::unique_ptr<InputFile> file)
      : file_(std::move(file)) {}

  Result<std::optional<Tensor>> next() override {
    size_t searched = 0;
    for (;;) {
      RONDO_ASSIGN_OR_RETURN(const auto bytes, file_->peek(searched + 1));
      if (bytes.empty()) return std::optional<Tensor>();
      const bool at_end = bytes.size() == searched;
      const auto* end =
          at_end ? nullptr
                 : static_cast<const char*>(std::memchr(
                       bytes.data() + searched, '\n', bytes.size() - searched));
      if (end == nullptr && !at_end) {
        searched = bytes.size();
        continue;
      }
      size_t length =
          at_end ? bytes.size() : static_cast<size_t>(end - bytes.data());
      const size_t used = at_end ? length : length + 1;
      if (!at_end && length > 0 && bytes[length - 1] == '\r') --length;
      Tensor line = bytes_component({bytes.data(), length});
      file_->consume(used);
      return std::optional(std::move(line));
    }
  }

 private:
  std::unique_ptr<InputFile> file_;
};

// header, records of one length, footer.
class FixedLengthReader final : public RecordReader {
 public:
  FixedLengthReader(std::unique_ptr<InputFile> file,
                    const FixedLengthOptions& options)
      : file_(std::move(file)),
        header_(static_cast<size_t>(options.header_bytes)),
        record_(static_cast<size_t>(options.record_bytes)),
        footer_(static_cast<size_t>(options.footer_bytes)) {}

  Result<std::optional<Tensor>> next() override {
    if (!begun_) RONDO_RETURN_IF_ERROR(skip_header());
    RONDO_ASSIGN_OR_RETURN(const auto bytes, file_->peek(record_ + footer_));
    if (bytes.size() == footer_) return std::optional<Tensor>();
    if (bytes.size() < footer_)
      return error(Code::kInvalidArgument,
                   "\"{}\": the footer at offset {} is cut off: {} of its {} "
                   "bytes are there",
                   file_->path(), file_->offset(), bytes.size(), footer_);
    if (bytes.size() < record_ + footer_)
      return cut_off(*file_, file_->offset(), bytes.size() - footer_, record_);
    Tensor record = bytes_component({bytes.data(), record_});
    file_->consume(record_);
    return std::optional(std::move(record));
  }

 private:
  Status skip_header() {
    begun_ = true;
    size_t left = header_;
    while (left > 0) {
      RONDO_ASSIGN_OR_RETURN(const auto bytes, file_->peek(1));
      if (bytes.empty())
        return error(Code::kInvalidArgument,
                     "\"{}\": the header is cut off: {} of its {} bytes are "
                     "there",
                     file_->path(), header_ - left, header_);
      const size_t now = std::min(left, bytes.size());
      file_->consume(now);
      left -= now;
    }
    return {};
  }

  std::unique_ptr<InputFile> file_;
  const size_t header_;
  const size_t record_;
  const size_t footer_;
  bool begun_ = false;
};

// record = length (u64), checksum of length (u32), data, checksum of data (u32)
//
// All little-endian; checksums are CRC-32C, masked because data may itself
// contain checksums.
class TfRecordReader final : public RecordReader {
 public:
  explicit TfRecordReader(std::unique_ptr<InputFile> file)
      : file_(std::move(file)) {}

  Result<std::optional<Tensor>> next() override {
    const uint64_t start = file_->offset();
    Head head;
    RONDO_ASSIGN_OR_RETURN(const size_t got, file_->read(&head, sizeof head));
    if (got == 0) return std::optional<Tensor>();
    if (got < sizeof head) return cut_off(*file_, start, got, sizeof head);
    uint64_t length;
    std::memcpy(&length, head.length, sizeof length);
    if (masked(crc32c(head.length, sizeof head.length)) != head.checksum)
      return damaged(start, "length");
    RONDO_ASSIGN_OR_RETURN(Tensor data, read_data(start, length));
    uint32_t checksum;
    RONDO_ASSIGN_OR_RETURN(const size_t tail,
                           file_->read(&checksum, sizeof checksum));
    if (tail < sizeof checksum)
      return cut_off(*file_, start, sizeof head + data.bytes() + tail,
                     sizeof head + length + sizeof checksum);
    if (masked(crc32c(data.data(), data.bytes())) != checksum)
      return damaged(start, "data");
    return std::optional(std::move(data));
  }

 private:
  struct Head {
    char length[8];
    uint32_t checksum;
  };
  static_assert(sizeof(Head) == 12);

  static uint32_t masked(uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
  }

  Status damaged(uint64_t start, std::string_view what) const {
    return error(Code::kInvalidArgument,
                 "\"{}\": the record at offset {} is damaged: the checksum of "
                 "its {} is wrong",
                 file_->path(), start, what);
  }

  // A length that is wrong in spite of its checksum must not make us allocate
  // what the file does not have: beyond a piece, memory grows with the data.
  Result<Tensor> read_data(uint64_t start, uint64_t length) {
    constexpr uint64_t kTrusted = uint64_t{64} << 20;
    if (length <= kTrusted) {
      Tensor data = new_component(DType::kU8, {static_cast<int64_t>(length)});
      RONDO_ASSIGN_OR_RETURN(const size_t got,
                             file_->read(data.data(), data.bytes()));
      if (got < length)
        return cut_off(*file_, start, sizeof(Head) + got,
                       sizeof(Head) + length + sizeof(uint32_t));
      return data;
    }
    std::vector<char> bytes;
    while (bytes.size() < length) {
      const size_t before = bytes.size();
      bytes.resize(before +
                   static_cast<size_t>(std::min(kTrusted, length - before)));
      RONDO_ASSIGN_OR_RETURN(
          const size_t got,
          file_->read(bytes.data() + before, bytes.size() - before));
      if (got < bytes.size() - before)
        return cut_off(*file_, start, sizeof(Head) + before + got,
                       sizeof(Head) + length + sizeof(uint32_t));
    }
    return bytes_component({bytes.data(), bytes.size()});
  }

  std::unique_ptr<InputFile> file_;
};

}  // namespace

std::unique_ptr<RecordReader> line_reader(std::unique_ptr<InputFile> file) {
  return std::make_unique<LineReader>(std::move(file));
}

std::unique_ptr<RecordReader> fixed_length_reader(
    std::unique_ptr<InputFile> file, const FixedLengthOptions& options) {
  return std::make_unique<FixedLengthReader>(std::move(file), options);
}

std::unique_ptr<RecordReader> tf_record_reader(
    std::unique_ptr<InputFile> file) {
  return std::make_unique<TfRecordReader>(std::move(file));
}

}  // namespace rondo
