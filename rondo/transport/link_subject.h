// LinkSubject: what a control link or a data stream is for, as the subject of
// its handshake.
#pragma once

#include <cstdint>
#include <cstring>

#include "rondo/transport/handshake.h"

namespace rondo {

struct LinkSubject {
  uint64_t target = 0;  // the nonce of the endpoint that is called
  uint64_t caller = 0;  // the nonce of the one that calls
  uint64_t group = 0;   // streams
  int32_t rank = 0;     // the caller's
  int32_t index = 0;    // streams

  Subject pack() const {
    Subject subject{};
    std::memcpy(subject.data(), this, sizeof *this);
    return subject;
  }
  static LinkSubject unpack(const Subject& subject) {
    LinkSubject link;
    std::memcpy(&link, subject.data(), sizeof link);
    return link;
  }
};
static_assert(sizeof(LinkSubject) <= sizeof(Subject));

}  // namespace rondo
