// SignalWatch: signals as events of a loop instead of interruptions.
#pragma once

#include <csignal>
#include <initializer_list>

#include "rondo/base/status.h"
#include "rondo/transport/socket.h"

namespace rondo {

// Blocks the signals in the calling thread (and in threads and processes it
// starts from then on; spawn() unblocks them), and unblocks them when it goes.
class SignalWatch {
 public:
  static Result<SignalWatch> start(std::initializer_list<int> signals);
  SignalWatch(SignalWatch&&) noexcept = default;
  SignalWatch& operator=(SignalWatch&&) = delete;
  ~SignalWatch();

  // Readable when a signal is waiting.
  int fd() const { return fd_.get(); }
  // The next waiting signal; 0 when there is none.
  int next();

 private:
  SignalWatch(Fd fd, sigset_t before) : fd_(std::move(fd)), before_(before) {}
  Fd fd_;
  sigset_t before_;
};

// SIGHUP, to be watched for; under nohup, where it stays ignored, SIGINT.
int hang_up();

}  // namespace rondo
