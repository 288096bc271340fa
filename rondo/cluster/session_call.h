// SessionCall: what a client asks its session's master to run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

struct SessionCall {
  uint64_t session = 0;
  int64_t run = 0;                 // numbered by the client, for cancelling it
  int64_t time_allowed = 0;        // see methods.h
  bool traced = false;             // whether the answer has a timeline
  std::vector<std::string> feeds;  // values; their tensors go along
  std::vector<std::string> fetches;
  std::vector<std::string> targets;  // nodes

  std::string encode() const;
  static Result<SessionCall> decode(std::string_view bytes);
};

}  // namespace rondo
