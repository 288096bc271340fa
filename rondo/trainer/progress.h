// Progress: what a person sees while a model trains.
#pragma once

#include <cstdio>
#include <string>

#include "rondo/base/clock.h"

namespace rondo {

struct ProgressOptions {
  int64_t steps = 1;      // in all
  int64_t log_every = 0;  // steps; 0: every few seconds
  int columns = 0;        // of the terminal; 0: there is none
  const char* unit = "images";
  bool workers = false;  // whether there is anybody to wait for
};

// Where a training stands, in numbers.
struct ProgressNumbers {
  int64_t step = 0;  // steps that are done
  double loss = 0;
  double right = 0;       // share of right answers
  double per_second = 0;  // images of all workers
  double waiting = 0;     // share of a step
  double seconds_left = 0;
};

// "step 120/1170, loss 0.432100, accuracy 84.3 %, ...".
std::string progress_text(const ProgressOptions& options,
                          const ProgressNumbers& numbers);
// The same behind a bar, within the width of the terminal.
std::string progress_bar(const ProgressOptions& options,
                         const ProgressNumbers& numbers);

// On a terminal one line, written again and again; elsewhere a line every so
// often. Lines end with '\n' in both cases, since what reads the output of
// ranks takes whole lines: the next one first goes back up. One thread.
class Progress {
 public:
  Progress(const ProgressOptions& options, std::FILE* out);

  // Whether show() would write something now; a step whose loss nobody sees
  // needs no text.
  bool due(int64_t step) const;
  void show(const ProgressNumbers& numbers);
  // A line that stays.
  void say(const std::string& line);

 private:
  const ProgressOptions options_;
  std::FILE* const out_;
  bool drawn_ = false;  // whether the last line is the bar
  Clock::time_point last_ = Clock::now();
};

}  // namespace rondo
