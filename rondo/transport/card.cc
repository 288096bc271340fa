#include "rondo/transport/card.h"

#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace rondo {

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0')
    return "unknown-host";
  return name;
}

std::string boot_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id.empty() ? "unknown" : id;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return CPU_COUNT(&set);
}

std::string Card::to_string() const {
  std::string text = fmt::format("rondo1 {} {} {} {} {}", nonce, pid, host,
                                 boot, cores);
  for (const SocketAddress& address : addresses)
    text += " " + address.to_string();
  return text;
}

Result<Card> Card::parse(std::string_view text) {
  std::istringstream in{std::string(text)};
  Card card;
  std::string version;
  if (!(in >> version >> card.nonce >> card.pid >> card.host >> card.boot >>
        card.cores) ||
      version != "rondo1")
    return error(Code::kInvalidArgument,
                 "not the address card of a rank of this version: \"{}\"; do "
                 "all ranks run the same Rondo, and is the store used by this "
                 "job alone?",
                 text.substr(0, 80));
  std::string address;
  while (in >> address) {
    RONDO_ASSIGN_OR_RETURN(auto parsed, SocketAddress::parse(address));
    card.addresses.push_back(parsed);
  }
  return card;
}

}  // namespace rondo
