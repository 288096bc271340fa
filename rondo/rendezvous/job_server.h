// Where in a job's store its parameter servers are: each writes its card there,
// and whoever started one that is gone for good, why.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/status.h"

namespace rondo {

// The key of server number `server`.
std::string job_server_key(int server);

// What takes the place of a card when nobody will start the server again.
std::string lost_server(std::string_view why);
// Why it is gone; nothing where `value` is a card.
std::optional<std::string> why_server_is_lost(std::string_view value);

}  // namespace rondo
