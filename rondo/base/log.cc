#include "rondo/base/log.h"

#include <unistd.h>

#include <string>

#include "rondo/base/env.h"
#include "rondo/base/mutex.h"

namespace rondo {
namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error"};

LogLevel level_from_env() {
  const std::string text = Env::process().get_or("RONDO_LOG", "warning");
  for (int i = 0; i < 4; ++i)
    if (text == kNames[i]) return static_cast<LogLevel>(i);
  return LogLevel::kWarning;
}

// The process's log: its prefix is the only state, and it is for people to
// read, never for code to act on.
struct Log {
  const LogLevel least = level_from_env();
  Mutex mutex;
  std::string prefix RONDO_GUARDED_BY(mutex);
};

Log& the_log() {
  static Log* log = new Log;  // lives until the process ends, for late lines
  return *log;
}

}  // namespace

bool log_enabled(LogLevel level) { return level >= the_log().least; }

void set_log_prefix(std::string_view prefix) {
  Log& log = the_log();
  MutexLock lock(log.mutex);
  log.prefix = prefix.empty() ? "" : fmt::format("[{}]", prefix);
}

void log_line(LogLevel level, std::string_view text) {
  Log& log = the_log();
  std::string line;
  {
    MutexLock lock(log.mutex);
    line = fmt::format("rondo{} {}: {}\n", log.prefix,
                       kNames[static_cast<int>(level)], text);
  }
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace rondo
