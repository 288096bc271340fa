#include "rondo/capi/handle.h"

using rondo::Status;
using rondo::capi::guard;
using rondo::capi::null_argument;

rondo_status_t rondo_work_wait(rondo_work_t* work, double timeout) {
  return guard([&]() -> Status {
    if (work == nullptr) return null_argument("rondo_work_wait", "work");
    if (timeout < 0) return work->work.wait();
    return work->work.wait(rondo::seconds(timeout));
  });
}

rondo_status_t rondo_work_test(rondo_work_t* work, int32_t* done) {
  return guard([&]() -> Status {
    if (work == nullptr) return null_argument("rondo_work_test", "work");
    if (done == nullptr) return null_argument("rondo_work_test", "done");
    *done = work->work.test() ? 1 : 0;
    return *done != 0 ? work->work.error() : Status();
  });
}

rondo_status_t rondo_work_cancel(rondo_work_t* work) {
  return guard([&]() -> Status {
    if (work == nullptr) return null_argument("rondo_work_cancel", "work");
    work->work.cancel();
    return {};
  });
}

void rondo_work_free(rondo_work_t* work) {
  (void)guard([&]() -> Status {
    delete work;
    return {};
  });
}
