#include "rondo/trainer/stop_request.h"

#include <csignal>

namespace rondo {
namespace {

// A signal handler has nothing else to write to.
volatile std::sig_atomic_t stop_came = 0;

void on_stop(int /*signal*/) { stop_came = 1; }

}  // namespace

StopRequest::StopRequest() {
  struct sigaction action {};
  action.sa_handler = on_stop;
  // Reads and writes go on; the second time the signal does what it always did.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool StopRequest::came() const { return stop_came != 0; }

}  // namespace rondo
