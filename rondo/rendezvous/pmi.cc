#include "rondo/rendezvous/pmi.h"

#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>

#include "rondo/transport/socket.h"

namespace rondo {
namespace {

constexpr size_t kLongestLine = 4096;
constexpr char kKey[] = "rondo-store";

// The value of `name` in "cmd=x name=value ..."; empty when it is not there.
std::string field(const std::string& line, const std::string& name) {
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  return "";
}

Result<std::string> ask(int fd, const std::string& request,
                        const std::string& expected, const Deadline& deadline) {
  const std::string context =
      fmt::format("PMI, asking mpirun \"{}\"", request.substr(0, 60));
  if (Status s = send_all(fd, request + "\n", deadline); !s.ok())
    return s.with_context(context);
  std::string line;
  // Byte by byte: what is behind the line end is not ours.
  for (char c = 0; line.size() < kLongestLine; line += c) {
    if (Status s = recv_all(fd, {&c, 1}, deadline); !s.ok())
      return s.with_context(context);
    if (c == '\n') break;
  }
  const std::string rc = field(line, "rc");
  if (field(line, "cmd") != expected || (!rc.empty() && rc != "0"))
    return error(Code::kUnavailable,
                 "{}: it answered \"{}\"; set RONDO_STORE to tcp://HOST:PORT "
                 "(a host where rank 0 runs) to do without PMI",
                 context, line);
  return line;
}

Result<std::string> share(int fd, bool giver, const std::string& text,
                          const Deadline& deadline) {
  RONDO_ASSIGN_OR_RETURN(std::string line,
                         ask(fd, "cmd=init pmi_version=1 pmi_subversion=1",
                             "response_to_init", deadline));
  RONDO_ASSIGN_OR_RETURN(line,
                         ask(fd, "cmd=get_my_kvsname", "my_kvsname", deadline));
  const std::string space = field(line, "kvsname");
  if (giver) {
    RONDO_ASSIGN_OR_RETURN(
        line, ask(fd,
                  fmt::format("cmd=put kvsname={} key={} value={}", space, kKey,
                              text),
                  "put_result", deadline));
  }
  RONDO_ASSIGN_OR_RETURN(line,
                         ask(fd, "cmd=barrier_in", "barrier_out", deadline));
  RONDO_ASSIGN_OR_RETURN(
      line, ask(fd, fmt::format("cmd=get kvsname={} key={}", space, kKey),
                "get_result", deadline));
  return field(line, "value");
}

// When process `pid` started, in clock ticks since boot; with the pid it names
// a process for as long as the host is up.
std::string start_time(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  // The second field is the program's name in parentheses and may hold spaces.
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return "";
  std::istringstream rest(text.substr(end + 1));
  std::string word;
  for (int i = 3; i <= 22; ++i) rest >> word;
  return word;
}

}  // namespace

Result<std::string> pmi_share(int fd, bool giver, const std::string& text,
                              Deadline deadline) {
  if (text.size() > kMaxPmiText ||
      text.find_first_of(" \n") != std::string::npos)
    return error(Code::kInternal, "PMI cannot carry \"{}\"", text);
  auto value = share(fd, giver, text, deadline);
  // Said even after a failure: without it mpirun takes our end for a crash.
  auto goodbye = ask(fd, "cmd=finalize", "finalize_ack", Deadline(seconds(5)));
  if (!value.ok()) return value;
  if (!goodbye.ok()) return goodbye.status();
  return value;
}

Result<std::string> pmi_local_job_id(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return errno_error(Code::kUnavailable, errno, "look at PMI_FD");
  const std::string since = peer.pid > 0 ? start_time(peer.pid) : "";
  if (since.empty())
    return error(Code::kUnavailable,
                 "the process at the other end of PMI_FD cannot be seen");
  return fmt::format("{}-{}", peer.pid, since);
}

}  // namespace rondo
