// What is called over links: numbers of methods. Bodies are written and read by
// the two files named at each; all begin with numbers and texts of wire.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

enum class CallMethod : uint32_t {
  // Of a worker: remote_worker.cc, worker_service.cc.
  kGet = 1,     // step, key -> dead?, a tensor unless dead
  kAdd = 2,     // time allowed; the parts as a tensor of bytes -> number
  kRemove = 3,  // graph
  kRun = 4,     // graph, step, time allowed, traced?; feeds -> fetches, and a
                // timeline where traced
  kCancel = 5,  // step, code, message
  // Of a master: remote_session.cc, session_service.cc.
  kAttach = 16,      // session: it lives as long as this link
  kExtend = 17,      // session, nodes before; those behind as a tensor of bytes
  kSessionRun = 18,  // SessionCall; feeds -> fetches, as kRun
  kSessionCancel = 19,   // session, run
  kSessionExplain = 20,  // SessionCall -> a text
};

constexpr uint32_t number(CallMethod method) {
  return static_cast<uint32_t>(method);
}

// What a task answers to a body that it cannot read.
inline Status bad_call(std::string_view method) {
  return error(Code::kInvalidArgument,
               "a call of {} that makes no sense came to this task", method);
}

// Times allowed travel in nanoseconds; this stands for no limit.
inline constexpr int64_t kNoLimit = -1;

}  // namespace rondo
