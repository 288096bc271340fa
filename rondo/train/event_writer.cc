// A file is a sequence of records, each an Event (event.proto):
//
//   record = length:u64 mask(crc32c(length)):u32 data mask(crc32c(data)):u32
//
// Numbers are little endian. The first event has the version of the file.
#include "rondo/train/event_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "rondo/base/crc32c.h"
#include "rondo/base/log.h"
#include "rondo/graph/graph_io.h"
#include "rondo/train/event.pb.h"

namespace rondo {
namespace {

constexpr size_t kConstantsUpTo = 1024;  // of a graph that is looked at
constexpr Duration kLeastPause = std::chrono::milliseconds(10);
constexpr Duration kMostPause = std::chrono::hours(24);
constexpr size_t kMostBytes = size_t{1} << 30;  // of one event
// More waiting bytes than this, and who adds waits for the writer.
constexpr size_t kMostWaiting = size_t{64} << 20;

double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

template <class T>
void put(std::string& to, T x) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &x, sizeof(T));
  to.append(bytes.data(), bytes.size());
}

// A checksum of bytes that have checksums in them would be a bad one, so these
// are changed.
uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes.data(), bytes.size());
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

std::string record_of(const proto::Event& event) {
  const std::string data = event.SerializeAsString();
  std::string record;
  record.reserve(data.size() + 16);
  put(record, static_cast<uint64_t>(data.size()));
  put(record, masked_crc(record));
  record += data;
  put(record, masked_crc(data));
  return record;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

// TensorBoard looks for "tfevents" in the name, and reads a folder's files in
// the order of their names.
std::string file_name(const std::string& suffix, int number) {
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}{}",
                     static_cast<int64_t>(now()), host_name(), ::getpid(),
                     number, suffix);
}

}  // namespace

class EventWriter::Impl {
 public:
  Impl(int file, std::string path, const EventWriterOptions& options)
      : file_(file),
        path_(std::move(path)),
        max_queue_(options.max_queue),
        flush_every_(std::clamp<Duration>(options.flush_every, kLeastPause,
                                          kMostPause)) {
    proto::Event version;
    version.set_wall_time(now());
    version.set_file_version("brain.Event:2");
    waiting_ = record_of(version);
    added_ = 1;
    thread_ = std::thread([this] { work(); });
  }
  ~Impl() {
    (void)close();
    ::close(file_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::string& path() const { return path_; }

  Status add(const proto::Event& event) {
    const std::string record = record_of(event);
    std::unique_lock lock(mutex_);
    written_.wait(lock, [&] {
      return waiting_.size() < kMostWaiting || !status_.ok() || closed_;
    });
    if (closed_) return error(Code::kInvalidArgument, "{} is closed", path_);
    RONDO_RETURN_IF_ERROR(status_);
    waiting_ += record;
    ++added_;
    if (is_full()) wanted_.notify_one();
    return {};
  }

  Status flush() {
    std::unique_lock lock(mutex_);
    if (closed_) return error(Code::kInvalidArgument, "{} is closed", path_);
    return flush(lock);
  }

  Status close() {
    std::unique_lock lock(mutex_);
    if (closed_) return {};
    (void)flush(lock);
    if (closed_) return {};  // by another thread meanwhile
    closed_ = true;
    wanted_.notify_one();
    written_.notify_all();
    lock.unlock();
    thread_.join();
    return status_;
  }

 private:
  Status flush(std::unique_lock<std::mutex>& lock) {
    const uint64_t wanted = added_;
    ++flushes_;
    wanted_.notify_one();
    written_.wait(lock,
                  [&] { return done_ >= wanted || !status_.ok() || closed_; });
    --flushes_;
    return status_;
  }

  bool is_full() const {
    return added_ - taken_ >= static_cast<uint64_t>(std::max(1, max_queue_)) ||
           waiting_.size() >= kMostWaiting;
  }

  // The thread's: writes what waits when there is much, at times, and when
  // somebody waits for it.
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait_for(lock, flush_every_, [&] {
        return closed_ || (!waiting_.empty() && (flushes_ > 0 || is_full()));
      });
      if (waiting_.empty() && closed_) return;
      if (waiting_.empty()) continue;
      std::string bytes;
      bytes.swap(waiting_);
      taken_ = added_;
      lock.unlock();
      Status status = write(bytes);
      lock.lock();
      done_ = taken_;
      if (!status.ok()) {
        status_ = std::move(status);
        waiting_.clear();
      }
      written_.notify_all();
    }
  }

  Status write(std::string_view bytes) {
    const auto whole = static_cast<off_t>(size_);
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int err = errno;
        // Without the beginning of what is not whole.
        if (::ftruncate(file_, whole) != 0)
          log(LogLevel::kWarning, "{} ends with half an event", path_);
        return errno_error(Code::kResource, err,
                           fmt::format("cannot write {}", path_));
      }
      size_ += static_cast<uint64_t>(n);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }

  const int file_;
  const std::string path_;
  const int max_queue_;
  const Duration flush_every_;
  uint64_t size_ = 0;  // of the file; the thread's

  std::mutex mutex_;
  std::condition_variable wanted_;   // there is something for the thread
  std::condition_variable written_;  // it has done something
  // Guarded by mutex_.
  std::string waiting_;  // records
  // Events from the first on: put into memory, taken by the thread, and done
  // with.
  uint64_t added_ = 0;
  uint64_t taken_ = 0;
  uint64_t done_ = 0;
  int flushes_ = 0;  // calls that wait for what they know to be written
  bool closed_ = false;
  Status status_;
  std::thread thread_;  // the last: it uses the others
};

EventWriter::EventWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<EventWriter>> EventWriter::open(
    const std::string& folder, const EventWriterOptions& options) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return error(Code::kInvalidArgument, "cannot make the folder {}: {}",
                 folder, failed.message());
  for (int number = 0;; ++number) {
    const std::string path =
        (std::filesystem::path(folder) / file_name(options.suffix, number))
            .string();
    const int file =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0)
      return errno_error(Code::kInvalidArgument, errno,
                         fmt::format("cannot make the file {}", path));
    return std::unique_ptr<EventWriter>(
        new EventWriter(std::make_unique<Impl>(file, path, options)));
  }
}

EventWriter::~EventWriter() {
  if (const Status status = impl_->close(); !status.ok())
    log(LogLevel::kError, "{}", status.message());
}

Status EventWriter::add_summary(std::string_view summary, int64_t step) {
  if (summary.size() > kMostBytes)
    return error(Code::kInvalidArgument,
                 "a summary of {} bytes is more than a file of events can have",
                 summary.size());
  proto::Event event;
  event.set_wall_time(now());
  event.set_step(step);
  event.set_summary(std::string(summary));
  return impl_->add(event);
}

Status EventWriter::add_summary(const Tensor& summary, int64_t step) {
  if (summary.dtype() != DType::kU8)
    return error(Code::kInvalidArgument,
                 "add_summary takes the u8 vector of a summary, not {}{}",
                 name_of(summary.dtype()), summary.shape().to_string());
  return add_summary(std::string_view(static_cast<const char*>(summary.data()),
                                      summary.bytes()),
                     step);
}

Status EventWriter::add_graph(const Graph& graph, int64_t step) {
  proto::Event event;
  event.set_wall_time(now());
  event.set_step(step);
  try {
    event.set_graph_def(
        to_graph_def(graph, {.constants_up_to = kConstantsUpTo}));
  } catch (const Error& e) {
    return Status(e.code(), e.what());
  }
  return impl_->add(event);
}

Status EventWriter::flush() { return impl_->flush(); }
Status EventWriter::close() { return impl_->close(); }
const std::string& EventWriter::path() const { return impl_->path(); }

}  // namespace rondo
