#include "rondo/train/data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rondo {
namespace {

constexpr size_t kPiece = size_t{256} << 10;

class PlainFile final : public InputFile {
 public:
  PlainFile(std::string path, int fd) : InputFile(std::move(path)), fd_(fd) {}
  ~PlainFile() override { close(fd_); }

 protected:
  Result<size_t> read_some(char* to, size_t bytes) override {
    for (;;) {
      const ssize_t got = ::read(fd_, to, bytes);
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) return fault(Code::kUnavailable, errno_text(errno));
    }
  }

 private:
  static std::string errno_text(int err) {
    return errno_error(Code::kUnavailable, err, "reading failed").message();
  }

  const int fd_;
};

class GzipFile final : public InputFile {
 public:
  GzipFile(std::string path, gzFile file)
      : InputFile(std::move(path)), file_(file) {}
  ~GzipFile() override { gzclose_r(file_); }

 protected:
  Result<size_t> read_some(char* to, size_t bytes) override {
    const auto most = static_cast<unsigned>(std::min(bytes, size_t{1} << 30));
    const int got = gzread(file_, to, most);
    if (got > 0 && gzdirect(file_) != 0)
      return fault(Code::kInvalidArgument, "this is not a gzip file");
    if (got > 0) return static_cast<size_t>(got);
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    if (code == Z_OK || code == Z_STREAM_END) return size_t{0};
    return fault(Code::kInvalidArgument,
                 code == Z_BUF_ERROR
                     ? std::string("the compressed file is cut off")
                     : fmt::format("the compressed file is damaged: {}", text));
  }

 private:
  gzFile file_;
};

}  // namespace

Result<std::unique_ptr<InputFile>> InputFile::open(std::string path,
                                                   Compression compression) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return errno_error(
        errno == EACCES ? Code::kPermission : Code::kInvalidArgument, errno,
        fmt::format("cannot open \"{}\"", path));
  struct stat about {};
  if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
    close(fd);
    return error(Code::kInvalidArgument, "\"{}\" is a folder, not a file",
                 path);
  }
  if (compression == Compression::kNone)
    return std::unique_ptr<InputFile>(
        std::make_unique<PlainFile>(std::move(path), fd));
  gzFile file = gzdopen(fd, "rb");
  if (file == nullptr) {
    close(fd);
    return error(Code::kResource, "no memory to read \"{}\"", path);
  }
  gzbuffer(file, static_cast<unsigned>(kPiece));
  return std::unique_ptr<InputFile>(
      std::make_unique<GzipFile>(std::move(path), file));
}

Status InputFile::fault(Code code, std::string_view what) const {
  return error(code, "\"{}\", at offset {}: {}", path_,
               offset_ + (end_ - begin_), what);
}

Result<std::span<const char>> InputFile::peek(size_t bytes) {
  while (end_ - begin_ < bytes) {
    if (begin_ > 0) {
      std::copy(buffer_.begin() + static_cast<ptrdiff_t>(begin_),
                buffer_.begin() + static_cast<ptrdiff_t>(end_),
                buffer_.begin());
      end_ -= begin_;
      begin_ = 0;
    }
    const size_t wanted = std::max(kPiece, bytes);
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    RONDO_ASSIGN_OR_RETURN(const size_t got, read_some(buffer_.data() + end_,
                                                       buffer_.size() - end_));
    if (got == 0) break;
    end_ += got;
  }
  return std::span<const char>(buffer_.data() + begin_, end_ - begin_);
}

void InputFile::consume(size_t bytes) {
  begin_ += bytes;
  offset_ += bytes;
}

Result<size_t> InputFile::read(void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  size_t done = std::min(bytes, end_ - begin_);
  if (done > 0) std::memcpy(at, buffer_.data() + begin_, done);
  consume(done);
  while (done < bytes) {
    RONDO_ASSIGN_OR_RETURN(const size_t got,
                           read_some(at + done, bytes - done));
    if (got == 0) break;
    done += got;
    offset_ += got;
  }
  return done;
}

}  // namespace rondo
