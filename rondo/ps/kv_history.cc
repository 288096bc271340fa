#include "rondo/ps/kv_history.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>

namespace rondo {
namespace {

namespace fs = std::filesystem;

// The numbers of the files "<what>-<number>" in a folder.
Result<std::set<int64_t>> numbers_of(const std::string& folder,
                                     std::string_view what) {
  std::set<int64_t> numbers;
  std::error_code failure;
  fs::directory_iterator entry(folder, failure);
  for (; !failure && entry != fs::directory_iterator();
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    const std::string prefix = fmt::format("{}-", what);
    if (!name.starts_with(prefix)) continue;
    int64_t number = 0;
    const char* end = name.data() + name.size();
    const auto [at, wrong] =
        std::from_chars(name.data() + prefix.size(), end, number);
    if (wrong == std::errc() && at == end) numbers.insert(number);
  }
  // Half a list would be taken for logs that are lost, or worse, for none.
  if (failure)
    return error(Code::kInvalidArgument, "cannot read the folder {}: {}",
                 folder, failure.message());
  return numbers;
}

// With those above it.
Status make_folder(const std::string& folder, bool to_disk) {
  std::error_code failure;
  std::vector<fs::path> changed;  // get a name
  for (fs::path at = fs::absolute(folder, failure);
       !fs::exists(at, failure) && at != at.parent_path();
       at = at.parent_path())
    changed.push_back(at.parent_path());
  fs::create_directories(folder, failure);
  if (failure)
    return error(Code::kInvalidArgument, "cannot make the folder {}: {}",
                 folder, failure.message());
  if (!to_disk) return {};
  for (const fs::path& one : changed)
    RONDO_RETURN_IF_ERROR(sync_folder(one.string()));
  return {};
}

}  // namespace

std::string KvHistory::path(std::string_view what, int64_t number) const {
  return fmt::format("{}/{}-{}", options_.folder, what, number);
}

Result<std::unique_ptr<KvHistory>> KvHistory::open(Options options,
                                                   const Restore& restore,
                                                   const Replay& replay) {
  RONDO_RETURN_IF_ERROR(make_folder(options.folder, options.to_disk));
  std::unique_ptr<KvHistory> made(new KvHistory(std::move(options)));
  const std::string lock = fmt::format("{}/lock", made->options_.folder);
  made->lock_ = Fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!made->lock_.valid() ||
      ::flock(made->lock_.get(), LOCK_EX | LOCK_NB) != 0)
    return errno_error(
        Code::kUnavailable, errno,
        fmt::format("cannot lock {}: is another server using this folder?",
                    lock));
  RONDO_RETURN_IF_ERROR(made->read(restore, replay));
  return made;
}

Status KvHistory::read(const Restore& restore, const Replay& replay) {
  RONDO_ASSIGN_OR_RETURN(const auto snapshots,
                         numbers_of(options_.folder, "snapshot"));
  RONDO_ASSIGN_OR_RETURN(const auto logs, numbers_of(options_.folder, "log"));
  const int64_t first = snapshots.empty() ? 0 : *snapshots.rbegin();
  if (!snapshots.empty()) {
    RONDO_ASSIGN_OR_RETURN(KvImage image, read_image(path("snapshot", first)));
    RONDO_RETURN_IF_ERROR(restore(std::move(image)));
  }
  int64_t last = first - 1;
  for (const int64_t number : logs) {
    if (number < first) continue;
    if (number != last + 1)
      return error(Code::kInvalidArgument,
                   "{} is not there, but later logs are: what a parameter "
                   "server acknowledged is lost",
                   path("log", last + 1));
    last = number;
    RONDO_RETURN_IF_ERROR(read_log(path("log", number), replay));
    // A server that is often started again takes snapshots, too.
    std::error_code ignored;
    const auto size = fs::file_size(path("log", number), ignored);
    if (!ignored) bytes_ += size;
  }
  return begin_log(last + 1);
}

Status KvHistory::begin_log(int64_t number) {
  RONDO_ASSIGN_OR_RETURN(
      auto log, LogFile::create(path("log", number), options_.to_disk));
  const MutexLock lock(mutex_);
  log_ = std::move(log);
  number_ = number;
  return {};
}

Status KvHistory::append(KvRecord kind, std::string_view body,
                         std::span<const Tensor> payload) {
  std::shared_ptr<LogFile> log;
  {
    const MutexLock lock(mutex_);
    log = log_;
  }
  uint64_t bytes = kLogFrontBytes + body.size();
  for (const Tensor& tensor : payload) bytes += tensor.bytes();
  bytes_ += bytes;
  return log->append(static_cast<uint32_t>(kind), body, payload);
}

bool KvHistory::grown() const { return bytes_ >= options_.snapshot_bytes; }

Status KvHistory::snapshot(const std::function<KvImage()>& image) {
  int64_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = number_ + 1;
  }
  const uint64_t before = bytes_;
  RONDO_RETURN_IF_ERROR(begin_log(number));
  RONDO_RETURN_IF_ERROR(write_image(path("snapshot", number), image()));
  bytes_ -= before;
  remove_before(number);
  return {};
}

void KvHistory::remove_before(int64_t number) const {
  std::error_code ignored;
  for (const std::string_view what : {"log", "snapshot"}) {
    // What cannot be removed now is removed after the next snapshot.
    const auto numbers = numbers_of(options_.folder, what);
    if (!numbers.ok()) continue;
    for (const int64_t old : *numbers)
      if (old < number) fs::remove(path(what, old), ignored);
  }
}

}  // namespace rondo
