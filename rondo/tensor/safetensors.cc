#include "rondo/tensor/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "rondo/base/crc32c.h"
#include "rondo/base/new_file.h"

namespace rondo {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are written as they are in memory");

// What is checked and then moved at once: it stays in the cache in between.
constexpr size_t kPiece = 1 << 20;
// Data begin at a multiple of this.
constexpr size_t kAlignment = 64;
// What other readers take at most.
constexpr uint64_t kMostHeader = 100'000'000;

// Where everything goes. Larger elements come first, so that each tensor is
// aligned for its own.
SafetensorsHeader layout_of(std::span<const NamedTensor> tensors,
                            const std::map<std::string, std::string>& metadata,
                            std::vector<const Tensor*>& order) {
  std::vector<const NamedTensor*> sorted;
  for (const NamedTensor& named : tensors) sorted.push_back(&named);
  std::ranges::stable_sort(sorted, std::greater(), [](const NamedTensor* t) {
    return size_of(t->tensor.dtype());
  });
  SafetensorsHeader header{.metadata = metadata};
  uint64_t at = 0;
  for (const NamedTensor* named : sorted) {
    const Tensor& tensor = named->tensor;
    header.entries.push_back(
        {.name = named->name,
         .type = std::string(safetensors_type(tensor.dtype())),
         .dtype = tensor.dtype(),
         .shape = tensor.shape(),
         .begin = at,
         .end = at + tensor.bytes(),
         .crc = 0});
    at += tensor.bytes();
    order.push_back(&tensor);
  }
  return header;
}

// The length and the header, with spaces behind it.
Result<std::string> head_of(const SafetensorsHeader& header) {
  RONDO_ASSIGN_OR_RETURN(const std::string json, to_json(header));
  std::string head(sizeof(uint64_t), '\0');
  head += json;
  head.resize((head.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const uint64_t length = head.size() - sizeof(uint64_t);
  if (length > kMostHeader)
    return error(Code::kInvalidArgument,
                 "the names and shapes of the tensors take {} bytes; the "
                 "format allows {}",
                 length, kMostHeader);
  std::memcpy(head.data(), &length, sizeof(length));
  return head;
}

// An element that is neither true nor false must not become a bool.
bool are_bools(const void* data, size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  return std::all_of(at, at + bytes, [](unsigned char b) { return b <= 1; });
}

}  // namespace

Status write_safetensors(const std::string& path,
                         std::span<const NamedTensor> tensors,
                         const std::map<std::string, std::string>& metadata,
                         const StopCheck& stop) {
  std::vector<const Tensor*> order;
  SafetensorsHeader header = layout_of(tensors, metadata, order);
  // Checksums are known when the data are written, and take their place then.
  RONDO_ASSIGN_OR_RETURN(std::string head, head_of(header));
  NewFile file(path);
  RONDO_RETURN_IF_ERROR(file.write(head.data(), head.size()));
  for (size_t i = 0; i < order.size(); ++i) {
    const auto* data = static_cast<const char*>(order[i]->data());
    const size_t bytes = order[i]->bytes();
    uint32_t crc = 0;
    for (size_t at = 0; at < bytes; at += kPiece) {
      if (stop) RONDO_RETURN_IF_ERROR(stop());
      const size_t n = std::min(kPiece, bytes - at);
      crc = crc32c(data + at, n, crc);
      RONDO_RETURN_IF_ERROR(file.write(data + at, n));
    }
    header.entries[i].crc = crc;
  }
  RONDO_ASSIGN_OR_RETURN(head, head_of(header));
  RONDO_RETURN_IF_ERROR(file.overwrite(0, head.data(), head.size()));
  return file.commit();
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      data_(other.data_),
      header_(std::move(other.header_)) {}

SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(header_.entries, other.header_.entries);
  std::swap(header_.metadata, other.header_.metadata);
  return *this;
}

SafetensorsFile::~SafetensorsFile() {
  if (file_ >= 0) ::close(file_);
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file(path);
  // Not to wait for whoever writes into it, should it be a pipe.
  file.file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.file_ < 0)
    return errno_error(file_error_code(errno), errno,
                       fmt::format("cannot open {}", path));
  if (Status status = file.read_header(); !status.ok())
    return status.with_context(
        fmt::format("{} is no whole safetensors file", path));
  return file;
}

Status SafetensorsFile::read_header() {
  struct stat info {};
  if (::fstat(file_, &info) != 0)
    return errno_error(Code::kResource, errno, "its size is not known");
  if (!S_ISREG(info.st_mode))
    return error(Code::kInvalidArgument, "it is a folder or device");
  const auto bytes = static_cast<uint64_t>(info.st_size);
  uint64_t length = 0;
  if (bytes < sizeof(length))
    return error(Code::kInvalidArgument, "it has only {} bytes", bytes);
  RONDO_RETURN_IF_ERROR(read_at(0, &length, sizeof(length)));
  if (length > bytes - sizeof(length) || length > kMostHeader)
    return error(Code::kInvalidArgument,
                 "its header should have {} bytes, but the file has {}", length,
                 bytes);
  std::string json(length, '\0');
  RONDO_RETURN_IF_ERROR(read_at(sizeof(length), json.data(), json.size()));
  data_ = sizeof(length) + length;
  RONDO_ASSIGN_OR_RETURN(header_, header_from_json(json, bytes - data_));
  return {};
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(header_.entries, name, {},
                                           &SafetensorsEntry::name);
  return at != header_.entries.end() && at->name == name ? &*at : nullptr;
}

Status SafetensorsFile::read_at(uint64_t offset, void* to, size_t bytes) const {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(file_, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(Code::kResource, errno, "cannot read it");
    if (n == 0)
      return error(Code::kInvalidArgument,
                   "it became shorter while it was read");
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

Status SafetensorsFile::read(const SafetensorsEntry& entry, void* to,
                             const StopCheck& stop) const {
  auto fail = [&](const Status& why) {
    return why.with_context(
        fmt::format("tensor \"{}\" of {}", entry.name, path_));
  };
  if (!entry.dtype)
    return fail(error(Code::kInvalidArgument,
                      "its elements are {}, a type that Rondo does not have",
                      entry.type));
  char* data = static_cast<char*>(to);
  uint32_t crc = 0;
  for (uint64_t at = 0; at < entry.bytes(); at += kPiece) {
    if (stop) RONDO_RETURN_IF_ERROR(stop());
    const auto n =
        static_cast<size_t>(std::min<uint64_t>(kPiece, entry.bytes() - at));
    if (Status status = read_at(data_ + entry.begin + at, data + at, n);
        !status.ok())
      return fail(status);
    if (entry.crc) crc = crc32c(data + at, n, crc);
    if (entry.dtype == DType::kBool && !are_bools(data + at, n))
      return fail(error(Code::kInvalidArgument,
                        "an element is neither true nor false: the file is "
                        "damaged"));
  }
  if (entry.crc && *entry.crc != crc)
    return fail(error(Code::kInvalidArgument,
                      "its checksum is wrong: the file is damaged"));
  return {};
}

Result<Tensor> SafetensorsFile::read(std::string_view name) const {
  const SafetensorsEntry* entry = find(name);
  if (!entry)
    return error(Code::kInvalidArgument, "{} has no tensor \"{}\"", path_,
                 name);
  if (!entry->dtype) {
    RONDO_RETURN_IF_ERROR(read(*entry, nullptr));
  }
  try {
    Tensor tensor = Tensor::empty(entry->shape, *entry->dtype);
    RONDO_RETURN_IF_ERROR(read(*entry, tensor.data()));
    return tensor;
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
}

}  // namespace rondo
