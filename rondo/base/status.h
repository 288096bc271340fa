// Status and Result: how everything that can fail while running reports it.
#pragma once

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/base/export.h"

namespace rondo {

// What kind of failure. The numbers are part of the C API and never change.
enum class Code : int {
  kOk = 0,
  kInvalidArgument = 1,  // the caller passed something that cannot work
  kMismatch = 2,         // ranks called different operations
  kPeerLost = 3,         // a rank died, left, or its connection broke
  kTimeout = 4,          // a deadline passed; the message names who is late
  kCancelled = 5,        // somebody cancelled the operation
  kUnavailable = 6,      // a service could not be reached
  kPermission = 7,       // refused: wrong token, no rights
  kResource = 8,         // out of memory, descriptors, ports
  kInternal = 9,         // a mistake of Rondo's own
  kOutOfRange = 10,      // there is no more: a closed queue, the end of data
};

// The lower-case name of a code: "mismatch", "peer lost".
RONDO_API std::string_view code_name(Code code);

// The exception that .value() throws.
class RONDO_API Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

// What a failure came from, for those who know its kind: the exception that a
// program's own function raised.
class RONDO_API Cause {
 public:
  virtual ~Cause() = default;
};

// Success, or a code with a message meant for the user. Cheap to copy, so one
// decided failure can be handed to every waiter.
class [[nodiscard]] RONDO_API Status {
 public:
  Status() = default;
  Status(Code code, std::string message);

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return rep_ ? rep_->code : Code::kOk; }
  // Empty when ok.
  const std::string& message() const;
  // "ok", or "<code>: <message>".
  std::string to_string() const;
  // Throws Error unless ok.
  void value() const {
    if (!ok()) raise();
  }
  // The same failure with `context` and ": " put in front of its message.
  Status with_context(std::string_view context) const;
  // The same failure with what it came from; nullptr: nothing to tell.
  Status with_cause(std::shared_ptr<const Cause> cause) const;
  std::shared_ptr<const Cause> cause() const {
    return rep_ ? rep_->cause : nullptr;
  }

 private:
  struct Rep {
    Code code;
    std::string message;
    std::shared_ptr<const Cause> cause;
  };
  [[noreturn]] void raise() const;

  std::shared_ptr<const Rep> rep_;
};

// error(Code::kTimeout, "rank {} is late", r)
template <class... Args>
Status error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

// As error(), with ": <strerror(err)>" behind the message.
RONDO_API Status errno_error(Code code, int err, std::string_view what);

// A T, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // Throws Error unless ok.
  T& value() & {
    status_.value();
    return *value_;
  }
  T&& value() && {
    status_.value();
    return std::move(*value_);
  }
  // The value; only after ok() was checked.
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace rondo

// Returns the failure of `expr` (a Status) to the caller.
#define RONDO_RETURN_IF_ERROR(expr)                                  \
  do {                                                               \
    if (::rondo::Status rondo_status_ = (expr); !rondo_status_.ok()) \
      return rondo_status_;                                          \
  } while (false)

#define RONDO_CONCAT_INNER(a, b) a##b
#define RONDO_CONCAT(a, b) RONDO_CONCAT_INNER(a, b)

// RONDO_ASSIGN_OR_RETURN(auto x, make_x()): x, or returns the failure.
#define RONDO_ASSIGN_OR_RETURN(decl, expr)                                  \
  RONDO_ASSIGN_OR_RETURN_INNER(RONDO_CONCAT(rondo_result_, __LINE__), decl, \
                               expr)
#define RONDO_ASSIGN_OR_RETURN_INNER(result, decl, expr) \
  auto result = (expr);                                  \
  if (!result.ok()) return result.status();              \
  decl = std::move(*result)
