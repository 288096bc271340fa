#include "rondo/rendezvous/job_server.h"

namespace rondo {
namespace {

// No card begins with it.
constexpr std::string_view kLost = "lost: ";

}  // namespace

std::string job_server_key(int server) {
  return fmt::format("ps/server/{}", server);
}

std::string lost_server(std::string_view why) {
  return fmt::format("{}{}", kLost, why);
}

std::optional<std::string> why_server_is_lost(std::string_view value) {
  if (!value.starts_with(kLost)) return std::nullopt;
  return std::string(value.substr(kLost.size()));
}

}  // namespace rondo
