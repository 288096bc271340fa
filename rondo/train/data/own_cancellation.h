// OwnCancellation: of the streams behind one that has threads.
#pragma once

#include <functional>

#include "rondo/kernels/cancellation.h"

namespace rondo {

// Cancelled with the one around it, or on its own when the stream that has it
// ends before the others.
class OwnCancellation : public Cancellation {
 public:
  // `wake` is called when it is cancelled, with no lock of the stream's held.
  OwnCancellation(Cancellation& around, std::function<void()> wake)
      : around_(around) {
    on_cancel(std::move(wake));
    link_ = around_.on_cancel([this] { cancel(around_.reason()); });
  }
  ~OwnCancellation() { around_.forget(link_); }
  OwnCancellation(const OwnCancellation&) = delete;
  OwnCancellation& operator=(const OwnCancellation&) = delete;

  void close() { cancel(Status(Code::kCancelled, "the iterator was closed")); }

 private:
  Cancellation& around_;
  int link_ = 0;
};

}  // namespace rondo
