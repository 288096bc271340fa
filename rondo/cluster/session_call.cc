#include "rondo/cluster/session_call.h"

#include "rondo/cluster/wire.h"

namespace rondo {
namespace {

void write_names(wire::Writer& out, const std::vector<std::string>& names) {
  out.number(static_cast<int64_t>(names.size()));
  for (const std::string& name : names) out.text(name);
}

std::vector<std::string> read_names(wire::Reader& in) {
  std::vector<std::string> names;
  const int64_t count = in.number();
  // Each takes four bytes at least.
  if (count < 0 || static_cast<uint64_t>(count) > in.left() / 4) return names;
  for (int64_t i = 0; i < count; ++i) names.emplace_back(in.text());
  return names;
}

}  // namespace

std::string SessionCall::encode() const {
  wire::Writer out;
  out.number(static_cast<int64_t>(session)).number(run).number(time_allowed);
  write_names(out, feeds);
  write_names(out, fetches);
  write_names(out, targets);
  return out.take();
}

Result<SessionCall> SessionCall::decode(std::string_view bytes) {
  wire::Reader in(bytes);
  SessionCall call;
  call.session = static_cast<uint64_t>(in.number());
  call.run = in.number();
  call.time_allowed = in.number();
  call.feeds = read_names(in);
  call.fetches = read_names(in);
  call.targets = read_names(in);
  if (!in.ok())
    return error(Code::kInvalidArgument,
                 "a call of SessionRun that makes no sense came to this task");
  return call;
}

}  // namespace rondo
