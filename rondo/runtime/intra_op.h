// IntraOpThreads: how many threads a loop within a kernel may use.
#pragma once

#include "rondo/kernels/cpu/parallel.h"

namespace rondo {

// While it lives, loops that this thread starts use so many threads.
class IntraOpThreads {
 public:
  explicit IntraOpThreads(int threads) : before_(intra_op_threads()) {
    set_intra_op_threads(threads);
  }
  ~IntraOpThreads() { set_intra_op_threads(before_); }
  IntraOpThreads(const IntraOpThreads&) = delete;
  IntraOpThreads& operator=(const IntraOpThreads&) = delete;

 private:
  const int before_;
};

}  // namespace rondo
