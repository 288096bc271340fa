#include "rondo/launch/rank_output.h"

#include <fmt/format.h>

namespace rondo {
namespace {

// Colours that are readable on dark and on light: no black, white or yellow.
constexpr int kColours[] = {36, 32, 35, 34, 31, 96, 92, 95, 94, 91};

}  // namespace

RankOutput::RankOutput(int ranks, RankOutputOptions options, OutputWriter& out,
                       OutputWriter& err)
    : options_(options), out_(out), err_(err), ranks_(ranks) {}

std::string RankOutput::label(int rank) const {
  const int first_server = static_cast<int>(ranks_.size()) - options_.servers;
  return rank < first_server ? std::to_string(rank)
                             : fmt::format("server {}", rank - first_server);
}

std::string RankOutput::prefix(int rank, Stream stream) const {
  if (!options_.prefix) return {};
  const bool colour =
      stream == Stream::kOut ? options_.colour_out : options_.colour_err;
  if (!colour) return fmt::format("[{}] ", label(rank));
  return fmt::format("\x1b[{}m[{}]\x1b[0m ",
                     kColours[rank % std::size(kColours)], label(rank));
}

void RankOutput::keep(Rank& rank, std::string_view line) {
  if (rank.tail.size() == kTail) rank.tail.pop_front();
  rank.tail.emplace_back(line.substr(0, kTailWidth));
}

void RankOutput::add(int rank, Stream stream, std::string_view bytes) {
  Rank& state = ranks_[rank];
  const std::string front = prefix(rank, stream);
  std::string lines;
  LineSplitter& splitter = stream == Stream::kOut ? state.out : state.err;
  splitter.feed(bytes, [&](std::string_view line, bool ended) {
    lines += front;
    lines += line;
    if (ended || options_.prefix) lines += '\n';
    if (stream == Stream::kErr) keep(state, line);
  });
  (stream == Stream::kOut ? out_ : err_).write(lines);
}

void RankOutput::flush(int rank) {
  Rank& state = ranks_[rank];
  const std::string_view end = options_.prefix ? "\n" : "";
  if (const std::string rest = state.out.take_rest(); !rest.empty())
    out_.write(fmt::format("{}{}{}", prefix(rank, Stream::kOut), rest, end));
  if (const std::string rest = state.err.take_rest(); !rest.empty()) {
    err_.write(fmt::format("{}{}{}", prefix(rank, Stream::kErr), rest, end));
    keep(state, rest);
  }
}

std::vector<std::string> RankOutput::last_errors(int rank) const {
  return {ranks_[rank].tail.begin(), ranks_[rank].tail.end()};
}

void RankOutput::say(std::string_view line) {
  err_.write(fmt::format("{}\n", line));
}

}  // namespace rondo
