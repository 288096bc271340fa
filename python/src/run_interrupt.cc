#include "run_interrupt.h"

#include <nanobind/nanobind.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "program_call.h"

namespace nb = nanobind;

namespace rondo::python {
namespace {

// A handler of signals may only post the semaphore; a thread that waits for it
// cancels. Never freed: that thread outlives everything.
struct Watch {
  sem_t posted;
  std::mutex mutex;
  std::vector<Cancellation*> runs;  // guarded by mutex
  pid_t owner = 0;                  // whose thread waits; of the main thread
};

Watch& watch() {
  static auto* w = [] {
    auto* made = new Watch;
    sem_init(&made->posted, 0, 0);
    return made;
  }();
  return *w;
}

std::atomic<Watch*> armed_watch{nullptr};
std::atomic<void (*)(int)> python_handler{nullptr};

void on_interrupt(int number) {
  const int saved = errno;
  if (auto* handler = python_handler.load()) handler(number);
  if (auto* w = armed_watch.load()) sem_post(&w->posted);
  errno = saved;
}

bool default_handler() {
  // A thread that waits for the GIL when the interpreter ends is ended with it,
  // and takes the process along.
  const ProgramCall call;
  if (!call.entered()) return false;
  try {
    nb::module_ signal = nb::module_::import_("signal");
    return signal.attr("getsignal")(SIGINT).is(
        signal.attr("default_int_handler"));
  } catch (nb::python_error&) {
    return false;
  }
}

void wait_for_signals(Watch& w) {
  for (;;) {
    if (sem_wait(&w.posted) != 0) continue;
    if (!default_handler()) continue;
    const std::lock_guard lock(w.mutex);
    for (Cancellation* run : w.runs)
      run->cancel(error(Code::kCancelled, "interrupted"));
  }
}

}  // namespace

RunInterrupt::RunInterrupt(Cancellation& cancellation)
    : cancellation_(cancellation) {
  // Only the main thread runs Python's handlers.
  if (static_cast<pid_t>(syscall(SYS_gettid)) != getpid()) return;
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler == SIG_DFL ||
      now.sa_handler == SIG_IGN)
    return;
  Watch& w = watch();
  {
    const std::lock_guard lock(w.mutex);
    w.runs.push_back(&cancellation_);
    if (w.owner != getpid()) {  // the first, or in a child of fork
      w.owner = getpid();
      std::thread(wait_for_signals, std::ref(w)).detach();
    }
  }
  armed_ = true;
  before_ = now;
  armed_watch.store(&w);
  if (now.sa_handler == on_interrupt) return;  // a run within a run
  python_handler.store(now.sa_handler);
  now.sa_handler = on_interrupt;
  sigaction(SIGINT, &now, nullptr);
}

RunInterrupt::~RunInterrupt() {
  if (!armed_) return;
  if (before_.sa_handler != on_interrupt) {
    // Unless the program set another one meanwhile.
    struct sigaction now {};
    sigaction(SIGINT, nullptr, &now);
    if (now.sa_handler == on_interrupt) sigaction(SIGINT, &before_, nullptr);
  }
  Watch& w = watch();
  const std::lock_guard lock(w.mutex);
  std::erase(w.runs, &cancellation_);
}

}  // namespace rondo::python
