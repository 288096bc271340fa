#include "rondo/plan/closed_forms.h"

namespace rondo {

double ring_bytes(double bytes, int workers) {
  return 2 * bytes * (workers - 1) / workers;
}

double ring_seconds(double bytes, int workers, double rate) {
  return ring_bytes(bytes, workers) / rate;
}

double efficiency_of(double transfer_seconds, double step_seconds) {
  return 1 / (1 + transfer_seconds / step_seconds);
}

double transfer_allowed(double efficiency, double step_seconds) {
  return (1 - efficiency) / efficiency * step_seconds;
}

double ring_rate_for(double efficiency, double bytes, int workers,
                     double step_seconds) {
  return ring_bytes(bytes, workers) /
         transfer_allowed(efficiency, step_seconds);
}

}  // namespace rondo
