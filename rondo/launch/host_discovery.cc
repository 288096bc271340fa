#include "rondo/launch/host_discovery.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

namespace rondo {
namespace {

constexpr Duration kPeriod = std::chrono::seconds(1);
constexpr Duration kLook = std::chrono::milliseconds(10);
// Of a list of hosts nothing is longer; what follows is not kept.
constexpr size_t kMaxText = size_t{1} << 20;

}  // namespace

Result<std::vector<Host>> HostDiscovery::ask(
    const std::vector<std::string>& command) {
  RONDO_ASSIGN_OR_RETURN(const auto loop, EventLoop::create());
  std::optional<Result<std::vector<Host>>> answer;
  HostDiscovery one(*loop, command,
                    [&answer](const auto& found) { answer = found; });
  RONDO_RETURN_IF_ERROR(one.start());
  while (!answer) {
    loop->after(kLook, [] {});
    loop->run_once();
    one.reap();
  }
  return *answer;
}

HostDiscovery::HostDiscovery(EventLoop& loop, std::vector<std::string> command,
                             Answer answer)
    : loop_(loop), command_(std::move(command)), answer_(std::move(answer)) {}

HostDiscovery::~HostDiscovery() { stop(); }

void HostDiscovery::begin() {
  again_ = true;
  loop_.after(kPeriod, [this] {
    if (!again_) return;
    if (const Status status = start(); !status.ok()) tell(status);
  });
}

void HostDiscovery::stop() {
  again_ = false;
  for (Fd* fd : {&child_.out, &child_.err})
    if (fd->valid()) loop_.forget(fd->get());
  if (child_.pid > 0) {
    ::kill(-child_.pid, SIGKILL);
    waitpid(child_.pid, nullptr, 0);
  }
  child_ = Child();
}

Status HostDiscovery::start() {
  SpawnOptions options;
  options.argv = command_;
  options.environment = process_environment();
  options.death_signal = SIGKILL;
  RONDO_ASSIGN_OR_RETURN(options.path,
                         find_program(command_[0], options.environment, ""));
  RONDO_ASSIGN_OR_RETURN(child_, spawn(options));
  output_.clear();
  errors_.clear();
  RONDO_RETURN_IF_ERROR(loop_.watch(
      child_.out.get(), EPOLLIN, [this] { read_into(child_.out, output_); }));
  return loop_.watch(child_.err.get(), EPOLLIN,
                     [this] { read_into(child_.err, errors_); });
}

void HostDiscovery::read_into(Fd& fd, std::string& text) {
  char chunk[4096];
  while (fd.valid()) {
    const ssize_t got = read(fd.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      loop_.forget(fd.get());
      fd.reset();
    } else if (text.size() < kMaxText) {
      text.append(chunk, static_cast<size_t>(got));
    }
  }
}

void HostDiscovery::reap() {
  int wait_status = 0;
  if (child_.pid <= 0 ||
      waitpid(child_.pid, &wait_status, WNOHANG) != child_.pid)
    return;
  read_into(child_.out, output_);
  read_into(child_.err, errors_);
  // A process that it left behind may hold them for as long as it likes.
  for (Fd* fd : {&child_.out, &child_.err})
    if (fd->valid()) loop_.forget(fd->get());
  child_ = Child();
  tell(parse(wait_status));
}

Result<std::vector<Host>> HostDiscovery::parse(int wait_status) const {
  if (wait_status != 0)
    return error(Code::kUnavailable, "'{}' {}{}{}", command_[0],
                 describe_exit(wait_status), errors_.empty() ? "" : ": ",
                 errors_.substr(0, errors_.find('\n')));
  auto hosts = parse_hostfile(output_);
  if (!hosts.ok())
    return hosts.status().with_context(
        fmt::format("what '{}' said", command_[0]));
  return hosts;
}

void HostDiscovery::tell(const Result<std::vector<Host>>& found) {
  if (again_) begin();
  answer_(found);
}

}  // namespace rondo
