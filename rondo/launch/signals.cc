#include "rondo/launch/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace rondo {

Result<SignalWatch> SignalWatch::start(std::initializer_list<int> signals) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  for (int signal : signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  Fd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) {
    const int why = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return errno_error(Code::kResource, why, "cannot watch for signals");
  }
  return SignalWatch(std::move(fd), before);
}

SignalWatch::~SignalWatch() {
  if (!fd_.valid()) return;
  while (next() != 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int hang_up() {
  struct sigaction now {};
  sigaction(SIGHUP, nullptr, &now);
  return now.sa_handler == SIG_IGN ? SIGINT : SIGHUP;
}

int SignalWatch::next() {
  signalfd_siginfo info;
  if (read(fd_.get(), &info, sizeof info) != sizeof info) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace rondo
