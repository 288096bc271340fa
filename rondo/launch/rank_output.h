// RankOutput: the ranks' output as people read it, line by line.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/launch/frame.h"
#include "rondo/launch/line_splitter.h"
#include "rondo/launch/output_writer.h"

namespace rondo {

struct RankOutputOptions {
  bool prefix = true;       // "[2] " in front of every line
  int servers = 0;          // the last of the ranks: "[server 0] "
  bool colour_out = false;  // the prefix in the rank's colour
  bool colour_err = false;
};

// Lines of different ranks never mix. Without prefixes the bytes of a rank come
// out exactly as they went in. Used from one thread.
class RankOutput {
 public:
  RankOutput(int ranks, RankOutputOptions options, OutputWriter& out,
             OutputWriter& err);

  // There are so many more ranks, numbered on; without servers only.
  void grow(int ranks) { ranks_.resize(ranks_.size() + ranks); }
  void add(int rank, Stream stream, std::string_view bytes);
  // Writes a last line that has no line end; for when the rank has ended.
  void flush(int rank);
  // The rank's last lines on standard error, at most kTail, cut at kTailWidth.
  std::vector<std::string> last_errors(int rank) const;
  // A line of the launcher's own on standard error.
  void say(std::string_view line);

  static constexpr size_t kTail = 10;
  static constexpr size_t kTailWidth = 1000;

 private:
  struct Rank {
    LineSplitter out;
    LineSplitter err;
    std::deque<std::string> tail;
  };
  std::string label(int rank) const;
  std::string prefix(int rank, Stream stream) const;
  void keep(Rank& rank, std::string_view line);

  const RankOutputOptions options_;
  OutputWriter& out_;
  OutputWriter& err_;
  std::vector<Rank> ranks_;
};

}  // namespace rondo
