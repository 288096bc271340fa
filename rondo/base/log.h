// Log lines on standard error: "rondo[rank 2] warning: ...". RONDO_LOG sets the
// least level that is written (debug, info, warning, error; warning unless
// set).
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace rondo {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

bool log_enabled(LogLevel level);
// Writes the whole line with one write(2), so lines of ranks do not mix.
void log_line(LogLevel level, std::string_view text);
// Put in front of every line of this process from now on ("rank 2").
void set_log_prefix(std::string_view prefix);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level))
    log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rondo
