#include "rondo/graph/graph_io.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "rondo/base/crc32c.h"
#include "rondo/base/new_file.h"
#include "rondo/graph/graph_def.h"

namespace rondo {
namespace {

// Constants up to here are part of the message.
constexpr size_t kInline = 1 << 20;
constexpr uint64_t kMostBytes = std::numeric_limits<int32_t>::max();
// Fields of the message that are read and written here.
constexpr uint32_t kDataField = 1003;
constexpr uint32_t kTrailerField = 1004;
constexpr uint32_t kLengthDelimited = 2;  // how a field says its length

std::string varint(uint64_t x) {
  std::string bytes;
  for (; x >= 0x80; x >>= 7) bytes.push_back(static_cast<char>(x | 0x80));
  bytes.push_back(static_cast<char>(x));
  return bytes;
}

std::string field_header(uint32_t field, uint64_t bytes) {
  return varint(uint64_t{field} << 3 | kLengthDelimited) + varint(bytes);
}

// The last bytes of a file: how long it is, and the checksum of all before.
struct Trailer {
  uint64_t file_bytes = 0;
  uint32_t crc = 0;
  static constexpr size_t kBytes = 12;
};

std::string serialize(const proto::GraphDef& message) {
  if (message.ByteSizeLong() > kMostBytes)
    throw Error(Code::kInvalidArgument,
                fmt::format("the graph takes {} bytes, which is more than a "
                            "protobuf message may have; save_graph puts large "
                            "constants behind it",
                            message.ByteSizeLong()));
  // Equal graphs give equal bytes.
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

proto::GraphDef parse(std::string_view bytes) {
  proto::GraphDef message;
  if (bytes.size() > kMostBytes ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw Error(Code::kInvalidArgument, "these bytes are no graph");
  return message;
}

// A graph as it was saved.
struct Saved {
  proto::GraphDef message;
  std::vector<Tensor> data;

  std::unique_ptr<Graph> graph() const {
    auto made = std::make_unique<Graph>();
    add_message(message, data, *made);
    return made;
  }
  void add_to(Graph& graph, const ImportOptions& options) {
    if (!options.scope.empty()) put_within(options.scope, message);
    check_names(message, graph);
    // What else is wrong with it is found before the graph changes: in one that
    // has no nodes, but the same names taken.
    const std::vector<bool> none(graph.nodes().size());
    add_message(message, data, *graph.clone_of(none));
    add_message(message, data, graph);
  }
};

class GraphWriter {
 public:
  explicit GraphWriter(const std::string& path) : file_(path) {}

  void write(const void* data, size_t bytes) {
    file_.write(data, bytes).value();
    crc_ = crc32c(data, bytes, crc_);
    written_ += bytes;
  }
  void write(const std::string& bytes) { write(bytes.data(), bytes.size()); }
  void finish() {
    write(field_header(kTrailerField, Trailer::kBytes));
    const uint64_t total = written_ + Trailer::kBytes;
    char trailer[Trailer::kBytes];
    std::memcpy(trailer, &total, 8);
    std::memcpy(trailer + 8, &crc_, 4);
    write(trailer, sizeof(trailer));
    file_.commit().value();
  }

 private:
  NewFile file_;
  uint32_t crc_ = 0;
  uint64_t written_ = 0;
};

// Reads a file from its beginning to its end, field by field.
class GraphReader {
 public:
  explicit GraphReader(const std::string& path) : path_(path) {
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (file_ < 0 || ::fstat(file_, &info) != 0) {
      const int err = errno;
      if (file_ >= 0) ::close(file_);
      errno_error(Code::kInvalidArgument, err,
                  fmt::format("cannot read the graph {}", path))
          .value();
    }
    left_ = total_ = static_cast<uint64_t>(std::max<off_t>(0, info.st_size));
  }
  ~GraphReader() { ::close(file_); }
  GraphReader(const GraphReader&) = delete;
  GraphReader& operator=(const GraphReader&) = delete;

  Saved read() {
    std::string message;
    std::vector<Tensor> data;
    bool whole = false;
    while (left_ > 0) {
      if (whole) damaged("there are bytes behind its end");
      std::string header;
      const uint64_t tag = read_varint(header);
      if (tag >> 3 != kDataField && tag >> 3 != kTrailerField) {
        read_field(tag, header, message);
        continue;
      }
      if ((tag & 7) != kLengthDelimited) damaged("it has a field of no length");
      const uint64_t bytes = read_varint(header);
      if (tag >> 3 == kDataField) {
        check_left(bytes);
        data.push_back(
            Tensor::empty({static_cast<int64_t>(bytes)}, DType::kU8));
        read_bytes(data.back().data(), bytes);
      } else {
        check_trailer(bytes);
        whole = true;
      }
    }
    if (!whole) damaged("its end is missing");
    return {parse(message), std::move(data)};
  }

 private:
  [[noreturn]] void damaged(std::string_view how) const {
    throw Error(Code::kInvalidArgument,
                fmt::format("{} is no whole graph: {}", path_, how));
  }

  void check_left(uint64_t bytes) const {
    if (bytes > left_)
      damaged(fmt::format("it ends {} bytes too early", bytes - left_));
  }

  // Through a buffer: headers are read byte by byte.
  void read_bytes(void* to, uint64_t bytes) {
    check_left(bytes);
    char* at = static_cast<char*>(to);
    for (uint64_t wanted = bytes; wanted > 0;) {
      if (begin_ == end_) fill();
      const auto n =
          static_cast<size_t>(std::min<uint64_t>(wanted, end_ - begin_));
      std::memcpy(at, buffer_.data() + begin_, n);
      crc_ = crc32c(at, n, crc_);
      begin_ += n;
      at += n;
      wanted -= n;
    }
    left_ -= bytes;
  }

  void fill() {
    ssize_t n;
    do n = ::read(file_, buffer_.data(), buffer_.size());
    while (n < 0 && errno == EINTR);
    if (n < 0)
      errno_error(Code::kInvalidArgument, errno,
                  fmt::format("cannot read the graph {}", path_))
          .value();
    if (n == 0) damaged("it became shorter while it was read");
    begin_ = 0;
    end_ = static_cast<size_t>(n);
  }

  // Also puts the bytes behind `header`.
  uint64_t read_varint(std::string& header) {
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      unsigned char byte;
      read_bytes(&byte, 1);
      header.push_back(static_cast<char>(byte));
      x |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return x;
    }
    damaged("it has a number of more than 64 bits");
  }

  // A field of the message, into its bytes.
  void read_field(uint64_t tag, std::string& header, std::string& message) {
    uint64_t bytes = 0;
    switch (tag & 7) {
      case 0: (void)read_varint(header); break;
      case 1: bytes = 8; break;
      case kLengthDelimited: bytes = read_varint(header); break;
      case 5: bytes = 4; break;
      default: damaged("it begins like no graph");
    }
    check_left(bytes);
    if (bytes + message.size() > kMostBytes) damaged("its message is too long");
    message += header;
    const size_t at = message.size();
    message.resize(at + bytes);
    read_bytes(message.data() + at, bytes);
  }

  void check_trailer(uint64_t bytes) {
    if (bytes != Trailer::kBytes) damaged("its end is of another length");
    const uint32_t crc = crc_;
    char raw[Trailer::kBytes];
    read_bytes(raw, sizeof(raw));
    Trailer trailer;
    std::memcpy(&trailer.file_bytes, raw, 8);
    std::memcpy(&trailer.crc, raw + 8, 4);
    if (trailer.file_bytes != total_)
      damaged(fmt::format("it has {} bytes, but was written with {}", total_,
                          trailer.file_bytes));
    if (trailer.crc != crc) damaged("its checksum is wrong");
  }

  const std::string path_;
  int file_ = -1;
  uint64_t total_ = 0;
  uint64_t left_ = 0;
  uint32_t crc_ = 0;
  std::string buffer_ = std::string(1 << 18, '\0');
  size_t begin_ = 0, end_ = 0;
};

}  // namespace

std::string to_graph_def(const Graph& graph, const GraphDefOptions& options) {
  return serialize(
      graph_to_message(graph, {.inline_up_to = options.constants_up_to}));
}

std::unique_ptr<Graph> from_graph_def(std::string_view bytes) {
  return Saved{parse(bytes), {}}.graph();
}

void import_graph_def(Graph& graph, std::string_view bytes,
                      const ImportOptions& options) {
  Saved{parse(bytes), {}}.add_to(graph, options);
}

void save_graph(const Graph& graph, const std::string& path) {
  std::vector<Tensor> data;
  const std::string message = serialize(
      graph_to_message(graph, {.inline_up_to = kInline, .data = &data}));
  GraphWriter writer(path);
  writer.write(message);
  for (const Tensor& tensor : data) {
    writer.write(field_header(kDataField, tensor.bytes()));
    writer.write(tensor.data(), tensor.bytes());
  }
  writer.finish();
}

std::unique_ptr<Graph> load_graph(const std::string& path) {
  return GraphReader(path).read().graph();
}

void import_graph(Graph& graph, const std::string& path,
                  const ImportOptions& options) {
  GraphReader(path).read().add_to(graph, options);
}

}  // namespace rondo
