#include "rondo/base/status.h"

#include <cstring>

namespace rondo {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kMismatch: return "mismatch";
    case Code::kPeerLost: return "peer lost";
    case Code::kTimeout: return "time-out";
    case Code::kCancelled: return "cancelled";
    case Code::kUnavailable: return "unavailable";
    case Code::kPermission: return "permission";
    case Code::kResource: return "resource";
    case Code::kInternal: return "internal";
    case Code::kOutOfRange: return "out of range";
  }
  return "unknown";
}

Status::Status(Code code, std::string message)
    : rep_(code == Code::kOk ? nullptr
                             : std::make_shared<const Rep>(
                                   Rep{code, std::move(message), nullptr})) {}

const std::string& Status::message() const {
  static const std::string empty;
  return rep_ ? rep_->message : empty;
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return fmt::format("{}: {}", code_name(code()), message());
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return *this;
  return Status(code(), fmt::format("{}: {}", context, message()))
      .with_cause(rep_->cause);
}

Status Status::with_cause(std::shared_ptr<const Cause> cause) const {
  if (ok()) return *this;
  Status same;
  same.rep_ = std::make_shared<const Rep>(
      Rep{rep_->code, rep_->message, std::move(cause)});
  return same;
}

void Status::raise() const { throw Error(code(), message()); }

Status errno_error(Code code, int err, std::string_view what) {
  char buffer[128];
  return Status(code, fmt::format("{}: {}", what,
                                  strerror_r(err, buffer, sizeof buffer)));
}

}  // namespace rondo
