#include "errors.h"

#include <c10/util/Exception.h>

#include <string_view>

namespace rondo::torch {
namespace {

// Time-outs are the process group's: what Rondo's texts say about its variables
// is not so here.
std::string in_words_of_pytorch(std::string text) {
  for (const std::string_view name : {"RONDO_CONNECT_TIMEOUT", "RONDO_TIMEOUT"})
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), "the timeout of init_process_group");
  return text;
}

}  // namespace

std::exception_ptr to_exception(const Status& status) {
  if (status.ok()) return nullptr;
  // Programs that handle time-outs of other backends look for these words.
  const bool late = status.code() == Code::kTimeout;
  const std::string text =
      fmt::format("rondo: {}{}", late ? "Timed out - " : "",
                  in_words_of_pytorch(status.message()));
  const c10::SourceLocation here{__func__, __FILE__, __LINE__};
  if (status.code() == Code::kInvalidArgument)
    return std::make_exception_ptr(c10::ValueError(here, text));
  return std::make_exception_ptr(c10::DistBackendError(here, text));
}

void throw_if_error(const Status& status) {
  if (!status.ok()) std::rethrow_exception(to_exception(status));
}

}  // namespace rondo::torch
