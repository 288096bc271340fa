#include <exception>
#include <new>

#include "rondo/capi/handle.h"

namespace rondo::capi {
namespace {

// As a Status, whose copies cost no memory: reporting cannot fail.
Status& last_failure() {
  thread_local Status failure;
  return failure;
}

}  // namespace

rondo_status_t report(const Status& status) noexcept {
  if (!status.ok()) last_failure() = status;
  return static_cast<rondo_status_t>(status.code());
}

Status current_exception() noexcept try { throw; } catch (const Error& e) {
  return Status(e.code(), e.what());
} catch (const std::bad_alloc&) {
  return Status(Code::kResource, "out of memory");
} catch (const std::exception& e) {
  return Status(Code::kInternal, e.what());
} catch (...) {
  return Status(Code::kInternal, "an exception that is no std::exception");
}

}  // namespace rondo::capi

const char* rondo_last_error(void) {
  return rondo::capi::last_failure().message().c_str();
}

const char* rondo_status_name(rondo_status_t status) {
  if (status < RONDO_OK || status > RONDO_OUT_OF_RANGE) return "unknown";
  // The names are literals, hence terminated.
  return rondo::code_name(static_cast<rondo::Code>(status)).data();
}

const char* rondo_version(void) { return RONDO_VERSION; }
