// How Rondo's failures become PyTorch's exceptions.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <exception>

#include "rondo/base/status.h"

namespace rondo::torch {

// ValueError for what the caller passed, DistBackendError for all else; the
// text is Rondo's.
std::exception_ptr to_exception(const Status& status);
void throw_if_error(const Status& status);

// What `body` returns, or kInternal with what it throws. Copies that it makes
// into the caller's tensors are not for autograd.
template <class Body>
Status guarded(const Body& body) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  try {
    return body();
  } catch (const c10::Error& e) {
    return error(Code::kInternal, "{}", e.what_without_backtrace());
  } catch (const std::exception& e) {
    return error(Code::kInternal, "{}", e.what());
  }
}

template <class T>
T value_or_throw(Result<T> result) {
  throw_if_error(result.status());
  return std::move(*result);
}

}  // namespace rondo::torch
