// OutputWriter: writes to a descriptor from a thread of its own, so that a slow
// reader never holds up whoever produces.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

// The descriptor may be a terminal, a pipe or a file that other processes
// share, which is why it is not made non-blocking. Used from one thread.
class OutputWriter {
 public:
  // `fd` is not owned and stays open for the life of the process.
  static Result<std::unique_ptr<OutputWriter>> start(int fd);
  // Does not wait for what is still queued.
  ~OutputWriter();

  // Queues `bytes`; never blocks. Dropped once the reader is gone.
  void write(std::string_view bytes);
  // Bytes that the reader has not taken yet.
  size_t queued() const;
  // Whether the reader has gone away.
  bool broken() const;
  // An eventfd that is readable after the thread made progress; clear() it.
  int event_fd() const;
  void clear_event();

  // Producers pause above kHigh and go on below kLow.
  static constexpr size_t kHigh = size_t{4} << 20;
  static constexpr size_t kLow = size_t{1} << 20;

 private:
  struct State;
  explicit OutputWriter(std::shared_ptr<State> state);
  static void run(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace rondo
