#include "errors.h"

#include <c10/util/Exception.h>

namespace rondo::torch {

std::exception_ptr to_exception(const Status& status) {
  if (status.ok()) return nullptr;
  // Programs that handle time-outs of other backends look for these words.
  const bool late = status.code() == Code::kTimeout;
  const std::string text =
      fmt::format("rondo: {}{}", late ? "Timed out - " : "", status.message());
  const c10::SourceLocation here{__func__, __FILE__, __LINE__};
  if (status.code() == Code::kInvalidArgument)
    return std::make_exception_ptr(c10::ValueError(here, text));
  return std::make_exception_ptr(c10::DistBackendError(here, text));
}

void throw_if_error(const Status& status) {
  if (!status.ok()) std::rethrow_exception(to_exception(status));
}

}  // namespace rondo::torch
