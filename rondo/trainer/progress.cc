#include "rondo/trainer/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rondo {
namespace {

constexpr Duration kRedraw = std::chrono::milliseconds(250);
constexpr Duration kNextLine = std::chrono::seconds(5);
constexpr int64_t kBar = 20;

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(std::max(seconds, 0.0)));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60,
                       whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string progress_text(const ProgressOptions& options,
                          const ProgressNumbers& numbers) {
  std::string text =
      fmt::format("step {}/{}, loss {:.6f}, accuracy {:.1f} %, {:.0f} {}/s",
                  numbers.step, options.steps, numbers.loss,
                  100 * numbers.right, numbers.per_second, options.unit);
  if (options.workers)
    text += fmt::format(", waiting {:.0f} %", 100 * numbers.waiting);
  return text + fmt::format(", {} left", clock_text(numbers.seconds_left));
}

std::string progress_bar(const ProgressOptions& options,
                         const ProgressNumbers& numbers) {
  const int64_t full =
      std::clamp(kBar * numbers.step / std::max<int64_t>(options.steps, 1),
                 int64_t{0}, kBar);
  std::string text = fmt::format("[{:=<{}}{:<{}}] {}", "", full, "",
                                 kBar - full, progress_text(options, numbers));
  // The last column stays free: some terminals go to the next line there.
  const auto most = static_cast<size_t>(std::max(options.columns - 1, 20));
  if (text.size() > most) text.resize(most);
  return text;
}

Progress::Progress(const ProgressOptions& options, std::FILE* out)
    : options_(options), out_(out) {}

bool Progress::due(int64_t step) const {
  const Duration since = Clock::now() - last_;
  if (options_.columns > 0) return since >= kRedraw || step == options_.steps;
  if (options_.log_every > 0) return step % options_.log_every == 0;
  return since >= kNextLine;
}

void Progress::show(const ProgressNumbers& numbers) {
  last_ = Clock::now();
  if (options_.columns == 0) {
    say(progress_text(options_, numbers));
    return;
  }
  const std::string text = fmt::format("{}{}\n", drawn_ ? "\x1b[A\x1b[2K" : "",
                                       progress_bar(options_, numbers));
  drawn_ = true;
  std::fputs(text.c_str(), out_);
  std::fflush(out_);
}

void Progress::say(const std::string& line) {
  drawn_ = false;
  std::fputs(fmt::format("{}\n", line).c_str(), out_);
  std::fflush(out_);
}

}  // namespace rondo
