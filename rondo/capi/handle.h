// What the C API's handles are, and how its functions report failures.
#pragma once

#include <memory>

#include "rondo/base/status.h"
#include "rondo/capi/rondo_c.h"
#include "rondo/collectives/communicator.h"

struct rondo_comm {
  rondo::Communicator comm;
};
struct rondo_work {
  rondo::Work work;
};
struct rondo_store {
  std::shared_ptr<rondo::Store> store;
};

namespace rondo::capi {

// Remembers a failure for rondo_last_error and returns its number.
rondo_status_t report(const Status& status) noexcept;
// The exception under way as a Status; only within a catch block.
Status current_exception() noexcept;

// Runs body(), which returns a Status, letting no exception out.
template <class Body>
rondo_status_t guard(Body&& body) noexcept {
  try {
    return report(body());
  } catch (...) {
    return report(current_exception());
  }
}

// An error that names what was NULL.
inline Status null_argument(const char* function, const char* what) {
  return error(Code::kInvalidArgument, "{}: {} is NULL", function, what);
}

// Checks and converts what came over the boundary; `function` is for messages.
Result<CallOptions> call_options(const char* function,
                                 const rondo_call_options_t* options);
Result<CommunicatorOptions> comm_options(const char* function,
                                         const rondo_comm_options_t* options);
Result<DType> dtype_of_number(const char* function, rondo_dtype_t dtype);

}  // namespace rondo::capi
