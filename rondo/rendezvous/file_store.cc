#include "rondo/rendezvous/file_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <vector>

#include "rondo/rendezvous/store_rules.h"
#include "rondo/transport/handshake.h"

namespace rondo {
namespace {

using std::chrono::milliseconds;

constexpr size_t kLongestPlainName = 200;
constexpr Duration kLongestPause = milliseconds(50);
// A lock is held for the time of a small write; longer means a stuck holder.
constexpr Duration kLockPatience = std::chrono::seconds(30);

// Sleeps a little longer each time, never past the deadline.
class Backoff {
 public:
  void pause(const Deadline& deadline) {
    std::this_thread::sleep_for(std::min(pause_, deadline.left()));
    pause_ = std::min(pause_ * 2, kLongestPause);
  }

 private:
  Duration pause_ = std::chrono::microseconds(500);
};

std::string hex_digest(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i)
    hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string file_name(std::string_view key) {
  std::string name = "k.";
  for (char c : key) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (plain)
      name += c;
    else
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    if (name.size() > kLongestPlainName) return "h." + hex_digest(key);
  }
  return name;
}

Status make_folder(const std::string& folder) {
  for (size_t at = 1; (at = folder.find('/', at)) != std::string::npos; ++at)
    ::mkdir(folder.substr(0, at).c_str(), 0755);  // parents; may exist
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(Code::kPermission, errno,
                       fmt::format("make the store's folder {}", folder));
  struct stat s {};
  if (::stat(folder.c_str(), &s) != 0)
    return errno_error(Code::kUnavailable, errno,
                       fmt::format("look at the store's folder {}", folder));
  if (!S_ISDIR(s.st_mode))
    return error(Code::kInvalidArgument,
                 "the store's folder {} is not a folder", folder);
  // Whoever can write here can hand this job addresses and a token.
  if (s.st_uid != ::geteuid() || (s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return error(Code::kPermission,
                 "the store's folder {} can be written by other users: give a "
                 "folder of your own (chmod 700)",
                 folder);
  return {};
}

class FileStore : public Store {
 public:
  FileStore(std::string folder, int ranks)
      : folder_(std::move(folder)), ranks_(ranks) {}

  ~FileStore() override {
    if (joined_) leave();
  }

  // Counts this store among the folder's members.
  Status join() {
    RONDO_ASSIGN_OR_RETURN(Fd lock, lock_folder());
    Members m = read_members();
    ++m.opened;
    RONDO_RETURN_IF_ERROR(write_members(m));
    joined_ = true;
    return {};
  }

  Status set(const std::string& key, std::string_view value) override {
    RONDO_RETURN_IF_ERROR(check_key(key));
    RONDO_RETURN_IF_ERROR(check_value(key, value));
    return write_file(file_name(key), value);
  }

  Result<std::string> get(const std::string& key, Deadline deadline) override {
    RONDO_RETURN_IF_ERROR(check_key(key));
    const std::string file = file_name(key);
    for (Backoff backoff;; backoff.pause(deadline)) {
      std::string value;
      RONDO_ASSIGN_OR_RETURN(const bool found, read_file(file, value));
      if (found) return value;
      if (deadline.passed()) return key_timeout(key, name());
    }
  }

  Result<int64_t> add(const std::string& key, int64_t amount) override {
    RONDO_RETURN_IF_ERROR(check_key(key));
    RONDO_ASSIGN_OR_RETURN(Fd lock, lock_folder());
    std::string text;
    RONDO_ASSIGN_OR_RETURN([[maybe_unused]] const bool found,
                           read_file(file_name(key), text));
    RONDO_ASSIGN_OR_RETURN(const int64_t value,
                           add_to_counter(key, text, amount));
    RONDO_RETURN_IF_ERROR(write_file(file_name(key), std::to_string(value)));
    return value;
  }

  Status remove(const std::string& key) override {
    RONDO_RETURN_IF_ERROR(check_key(key));
    const std::string path = path_of(file_name(key));
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      return errno_error(Code::kUnavailable, errno,
                         fmt::format("remove {}", path));
    return {};
  }

  std::string name() const override { return "file://" + folder_; }

 private:
  struct Members {
    long long opened = 0, closed = 0;
  };

  std::string path_of(const std::string& file) const {
    return folder_ + "/" + file;
  }

  // flock belongs to the open file, so threads exclude each other as well.
  Result<Fd> lock_folder() {
    const std::string path = path_of(".lock");
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid())
      return errno_error(Code::kUnavailable, errno,
                         fmt::format("open {}", path));
    const Deadline deadline(kLockPatience);
    for (Backoff backoff; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
         backoff.pause(deadline)) {
      if (errno != EWOULDBLOCK && errno != EINTR)
        return errno_error(Code::kUnavailable, errno,
                           fmt::format("lock {}", path));
      if (deadline.passed())
        return error(Code::kTimeout,
                     "another process holds {} for too long: is a rank of this "
                     "job stopped?",
                     path);
    }
    // The last member may have removed the folder between open and flock.
    struct stat s {};
    if (::fstat(fd.get(), &s) == 0 && s.st_nlink == 0)
      return error(Code::kUnavailable, "the store {} was removed", name());
    return fd;
  }

  // False when there is no such file.
  Result<bool> read_file(const std::string& file, std::string& text) {
    const std::string path = path_of(file);
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid() && errno == ENOENT) return false;
    if (!fd.valid())
      return errno_error(Code::kUnavailable, errno,
                         fmt::format("open {}", path));
    char chunk[16 << 10];
    for (;;) {
      const ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
      if (n == 0) return true;
      if (n > 0)
        text.append(chunk, static_cast<size_t>(n));
      else if (errno != EINTR)
        return errno_error(Code::kUnavailable, errno,
                           fmt::format("read {}", path));
    }
  }

  Status write_file(const std::string& file, std::string_view text) {
    const std::string temporary =
        path_of(fmt::format(".tmp.{}.{:016x}", ::getpid(), random_u64()));
    Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 0600));
    if (!fd.valid())
      return errno_error(Code::kUnavailable, errno,
                         fmt::format("write {}", temporary));
    while (!text.empty()) {
      const ssize_t n = ::write(fd.get(), text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int err = errno;
        ::unlink(temporary.c_str());
        return errno_error(Code::kResource, err,
                           fmt::format("write {}", temporary));
      }
      text.remove_prefix(static_cast<size_t>(n));
    }
    if (::rename(temporary.c_str(), path_of(file).c_str()) != 0) {
      const int err = errno;
      ::unlink(temporary.c_str());
      return errno_error(Code::kUnavailable, err,
                         fmt::format("write {}", path_of(file)));
    }
    return {};
  }

  Members read_members() {
    Members m;
    std::string text;
    auto found = read_file(".members", text);
    if (found.ok() && *found)
      std::sscanf(text.c_str(), "%lld %lld", &m.opened, &m.closed);
    return m;
  }

  Status write_members(const Members& m) {
    return write_file(".members", fmt::format("{} {}", m.opened, m.closed));
  }

  void leave() {
    auto lock = lock_folder();
    if (!lock.ok()) return;
    Members m = read_members();
    ++m.closed;
    if (m.closed < m.opened || m.opened < ranks_) {
      // Failing to count leaves files behind, which harms nobody now.
      (void)write_members(m);
      return;
    }
    remove_files();
    ::rmdir(folder_.c_str());
  }

  void remove_files() {
    DIR* dir = ::opendir(folder_.c_str());
    if (dir == nullptr) return;
    std::vector<std::string> files;
    while (const dirent* entry = ::readdir(dir)) {
      const std::string_view file = entry->d_name;
      if (file.starts_with("k.") || file.starts_with("h.") ||
          file.starts_with(".tmp.") || file == ".members" || file == ".lock")
        files.emplace_back(file);
    }
    ::closedir(dir);
    for (const std::string& file : files) ::unlink(path_of(file).c_str());
  }

  const std::string folder_;
  const int ranks_;
  bool joined_ = false;
};

Result<std::string> clean_path(const std::string& folder) {
  if (!folder.starts_with('/'))
    return error(Code::kInvalidArgument,
                 "the store's folder \"{}\" is not an absolute path: write "
                 "file:///path/to/folder",
                 folder);
  std::string path = folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Result<std::shared_ptr<Store>> open_file_store(const std::string& folder) {
  RONDO_ASSIGN_OR_RETURN(std::string path, clean_path(folder));
  RONDO_RETURN_IF_ERROR(make_folder(path));
  return std::shared_ptr<Store>(std::make_shared<FileStore>(path, 0));
}

Result<std::shared_ptr<Store>> open_job_file_store(const std::string& folder,
                                                   int ranks) {
  RONDO_ASSIGN_OR_RETURN(std::string path, clean_path(folder));
  Status status;
  // Again when the last member of an earlier use removes the folder meanwhile.
  for (int attempt = 0; attempt < 100; ++attempt) {
    RONDO_RETURN_IF_ERROR(make_folder(path));
    auto store = std::make_shared<FileStore>(path, ranks);
    status = store->join();
    if (status.ok()) return std::shared_ptr<Store>(std::move(store));
    if (status.code() != Code::kUnavailable) break;
  }
  return status;
}

}  // namespace rondo
