#include "rondo/transport/card.h"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
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

std::string usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "0";
  std::string list;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    list += fmt::format("{}{}-{}", list.empty() ? "" : ",", first, last);
    first = last;
  }
  return list.empty() ? "0" : list;
}

void add_cpus(std::string_view list, std::set<int>& cpus) {
  std::istringstream in{std::string(list)};
  std::string range;
  while (std::getline(in, range, ',')) {
    int first = 0;
    int last = 0;
    const int n = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (n == 1) last = first;
    for (int cpu = first; n >= 1 && cpu <= last && cpu < CPU_SETSIZE; ++cpu)
      cpus.insert(cpu);
  }
}

std::string Card::to_string() const {
  std::string text =
      fmt::format("rondo1 {} {} {} {} {}", nonce, pid, host, boot, cpus);
  for (const SocketAddress& address : addresses)
    text.append(1, ' ').append(address.to_string());
  return text;
}

Result<Card> Card::parse(std::string_view text) {
  std::istringstream in{std::string(text)};
  Card card;
  std::string version;
  if (!(in >> version >> card.nonce >> card.pid >> card.host >> card.boot >>
        card.cpus) ||
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
