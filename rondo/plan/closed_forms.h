// The closed forms for ring-allreduce and the efficiency that follows.
//
// n workers exchange D bytes of gradients in every step over links of S bytes a
// second each way. A worker alone takes Ts for a step. With nothing hidden:
//
//   Tt = 2 D (n-1) / (n S)          time of the exchange
//   Tp = Ts + Tt                    time of a step
//   P  = Ts / Tp = 1 / (1 + Tt/Ts)  efficiency
//   S  = 2 D P (n-1) / (n (1-P) Ts) what an efficiency needs
#pragma once

namespace rondo {

// Bytes that each worker sends, and receives.
double ring_bytes(double bytes, int workers);
double ring_seconds(double bytes, int workers, double rate);
double efficiency_of(double transfer_seconds, double step_seconds);
// Seconds that an exchange may take for this efficiency, 0 < P < 1.
double transfer_allowed(double efficiency, double step_seconds);
double ring_rate_for(double efficiency, double bytes, int workers,
                     double step_seconds);

}  // namespace rondo
