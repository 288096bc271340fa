// How Rondo's failures become PyTorch's exceptions.
#pragma once

#include <ATen/ATen.h>

#include <exception>

#include "rondo/base/status.h"

namespace rondo::torch {

// ValueError for what the caller passed, DistBackendError for all else; the
// text is Rondo's.
std::exception_ptr to_exception(const Status& status);
void throw_if_error(const Status& status);

template <class T>
T value_or_throw(Result<T> result) {
  throw_if_error(result.status());
  return std::move(*result);
}

}  // namespace rondo::torch
