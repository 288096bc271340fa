// LineSplitter: turns chunks of a stream into whole lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace rondo {

// Any bytes but '\n' are part of a line. A line longer than `limit` comes in
// pieces, so that a stream without line ends does not fill the memory.
class LineSplitter {
 public:
  static constexpr size_t kLimit = size_t{16} << 20;
  explicit LineSplitter(size_t limit = kLimit) : limit_(limit) {}

  // Calls line(text, ended) for every line that is whole with these bytes;
  // `text` is without its '\n', and `ended` is false for a piece of a line that
  // passed the limit.
  template <class Line>
  void feed(std::string_view bytes, Line&& line) {
    while (!bytes.empty()) {
      const size_t newline = bytes.find('\n');
      const bool ended = newline != std::string_view::npos;
      const std::string_view part = bytes.substr(0, newline);
      bytes.remove_prefix(part.size() + (ended ? 1 : 0));
      if (ended && rest_.empty()) {
        line(part, true);
        continue;
      }
      rest_ += part;
      if (ended || rest_.size() >= limit_) {
        line(std::string_view(rest_), ended);
        rest_.clear();
      }
    }
  }

  // What came after the last line end; empty from now on.
  std::string take_rest() { return std::exchange(rest_, {}); }

 private:
  size_t limit_;
  std::string rest_;
};

}  // namespace rondo
