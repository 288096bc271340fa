#include "rondo/cluster/session_call.h"

#include "rondo/cluster/methods.h"
#include "rondo/cluster/wire.h"

namespace rondo {

std::string SessionCall::encode() const {
  return wire::Writer()
      .number(static_cast<int64_t>(session))
      .number(run)
      .number(time_allowed)
      .number(traced ? 1 : 0)
      .texts(feeds)
      .texts(fetches)
      .texts(targets)
      .take();
}

Result<SessionCall> SessionCall::decode(std::string_view bytes) {
  wire::Reader in(bytes);
  SessionCall call;
  call.session = static_cast<uint64_t>(in.number());
  call.run = in.number();
  call.time_allowed = in.number();
  const int64_t traced = in.number();
  call.traced = traced == 1;
  call.feeds = in.texts();
  call.fetches = in.texts();
  call.targets = in.texts();
  if (!in.ok() || traced < 0 || traced > 1) return bad_call("SessionRun");
  return call;
}

}  // namespace rondo
