// TaskLinkSubject: whom a link is for and who makes it, as the subject of its
// handshake.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "rondo/transport/handshake.h"

namespace rondo {

struct TaskLinkSubject {
  uint64_t target = 0;   // the incarnation of the task that is called
  char caller[56] = {};  // cut where it is longer; for messages

  static TaskLinkSubject make(uint64_t target, std::string_view caller) {
    TaskLinkSubject made;
    made.target = target;
    const size_t most = sizeof made.caller - 1;
    std::memcpy(made.caller, caller.data(), std::min(caller.size(), most));
    return made;
  }
  std::string name() const { return {caller, strnlen(caller, sizeof caller)}; }
  Subject pack() const {
    Subject subject{};
    std::memcpy(subject.data(), this, sizeof *this);
    return subject;
  }
  static TaskLinkSubject unpack(const Subject& subject) {
    TaskLinkSubject made;
    std::memcpy(&made, subject.data(), sizeof made);
    return made;
  }
};
static_assert(sizeof(TaskLinkSubject) == sizeof(Subject));

}  // namespace rondo
