#include "rondo/launch/agent_link.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "rondo/launch/read_ready.h"

namespace rondo {
namespace {

constexpr size_t kMaxBeforeHello = size_t{1} << 16;
constexpr size_t kTurn = size_t{1} << 18;

}  // namespace

Result<std::unique_ptr<AgentLink>> AgentLink::start(
    EventLoop& loop, const std::vector<std::string>& command,
    const std::string& host, const JobSpec& spec, Listener& listener) {
  std::unique_ptr<AgentLink> link(new AgentLink(loop, host, spec, listener));
  link->command_name_ = command[0].substr(command[0].rfind('/') + 1);
  SpawnOptions options;
  options.argv = command;
  options.environment = process_environment();
  options.pipe_stdin = true;
  options.new_session = true;
  RONDO_ASSIGN_OR_RETURN(options.path,
                         find_program(command[0], options.environment, ""));
  RONDO_ASSIGN_OR_RETURN(link->child_, spawn(options));
  link->watch_output();
  RONDO_RETURN_IF_ERROR(
      loop.watch(link->child_.err.get(), EPOLLIN, [l = link.get()] {
        if (l->read_errors()) return;
        l->loop_.forget(l->child_.err.get());
        l->child_.err.reset();
      }));
  link->send(encode_frame(FrameType::kJob, 0, encode_job_spec(spec)));
  return link;
}

AgentLink::~AgentLink() {
  for (Fd* fd : {&child_.in, &child_.out, &child_.err})
    if (fd->valid()) loop_.forget(fd->get());
  if (child_.pid > 0 && !closed_) {
    abandon();
    waitpid(child_.pid, nullptr, 0);
  }
}

void AgentLink::abandon() {
  if (!closed_) ::kill(child_.pid, SIGKILL);
}

void AgentLink::send(std::string_view bytes) {
  unsent_ += bytes;
  flush();
}

void AgentLink::flush() {
  while (child_.in.valid() && !unsent_.empty()) {
    const ssize_t written =
        write(child_.in.get(), unsent_.data(), unsent_.size());
    if (written > 0) {
      unsent_.erase(0, static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      if (!sending_)
        sending_ =
            loop_.watch(child_.in.get(), EPOLLOUT, [this] { flush(); }).ok();
      return;
    } else if (errno != EINTR) {
      break;  // it went away; its exit says why
    }
  }
  if (sending_) loop_.forget(child_.in.get());
  sending_ = false;
}

void AgentLink::watch_output() {
  const Status status = loop_.watch(child_.out.get(), EPOLLIN, [this] {
    if (read_output()) return;
    loop_.forget(child_.out.get());
    child_.out.reset();
  });
  if (!status.ok()) child_.out.reset();
}

void AgentLink::pause(bool pause) {
  if (pause == paused_) return;
  paused_ = pause;
  if (!child_.out.valid()) return;
  if (pause)
    loop_.forget(child_.out.get());
  else
    watch_output();
}

bool AgentLink::read_output() {
  return read_ready(child_.out, kTurn, [this](auto bytes) { take(bytes); });
}

bool AgentLink::read_errors() {
  return read_ready(child_.err, kTurn, [this](auto bytes) {
    listener_.on_agent_error(*this, bytes);
  });
}

void AgentLink::take(std::string_view bytes) {
  if (!broken_.ok()) return;
  std::string held;
  if (!greeted_) {
    before_hello_ += bytes;
    const size_t hello = before_hello_.find(kAgentHelloStart);
    const size_t end = hello == std::string::npos
                           ? std::string::npos
                           : before_hello_.find('\n', hello);
    if (end == std::string::npos) {
      if (before_hello_.size() > kMaxBeforeHello)
        before_hello_.erase(0, kMaxBeforeHello / 2);
      return;
    }
    const std::string line = before_hello_.substr(hello, end + 1 - hello);
    if (line != kAgentHello) {
      broken_ = error(Code::kInvalidArgument,
                      "the rondo there is another version; both have to be the "
                      "same");
      return abandon();
    }
    greeted_ = true;
    held = before_hello_.substr(end + 1);
    bytes = held;
  }
  frames_.feed(bytes);
  Frame frame;
  while (true) {
    const Result<bool> whole = frames_.next(&frame);
    if (!whole.ok()) {
      broken_ = whole.status();
      return abandon();
    }
    if (!*whole) return;
    handle(frame);
  }
}

void AgentLink::handle(const Frame& frame) {
  const bool about_rank =
      frame.type == FrameType::kStarted || frame.type == FrameType::kOutput ||
      frame.type == FrameType::kExited || frame.type == FrameType::kRestarted;
  if (about_rank && (frame.rank < spec_.first_rank ||
                     frame.rank >= spec_.first_rank + spec_.count))
    return;
  if (frame.type == FrameType::kStarted)
    listener_.on_started(*this, frame.rank,
                         static_cast<pid_t>(get_u32(frame.payload)));
  else if (frame.type == FrameType::kOutput)
    listener_.on_output(frame.rank, frame.stream, frame.payload);
  else if (frame.type == FrameType::kExited)
    listener_.on_exited(*this, frame.rank,
                        static_cast<int>(get_u32(frame.payload)));
  else if (frame.type == FrameType::kRestarted && frame.payload.size() >= 8)
    listener_.on_restarted(
        *this, frame.rank, static_cast<int>(get_u32(frame.payload)),
        static_cast<pid_t>(get_u32(frame.payload.substr(4))));
  else if (frame.type == FrameType::kFailed && frame.payload.size() >= 4)
    listener_.on_refused(*this, static_cast<int>(get_u32(frame.payload)),
                         frame.payload.substr(4));
  else if (frame.type == FrameType::kDone)
    done_ = true;
}

void AgentLink::reap() {
  int wait_status = 0;
  if (!closed_ && waitpid(child_.pid, &wait_status, WNOHANG) == child_.pid)
    close(wait_status);
}

void AgentLink::close(int wait_status) {
  closed_ = true;
  // Not until the end of the streams: a background master of ssh's may hold
  // them for as long as it likes. What the process wrote is there already.
  if (child_.out.valid()) {
    read_ready(child_.out, kMaxFramePayload, [this](auto b) { take(b); });
    if (!paused_) loop_.forget(child_.out.get());
    child_.out.reset();
  }
  if (child_.err.valid()) {
    read_errors();
    loop_.forget(child_.err.get());
    child_.err.reset();
  }
  if (child_.in.valid()) {
    if (sending_) loop_.forget(child_.in.get());
    child_.in.reset();
  }
  listener_.on_closed(*this, done_ ? Status() : why_closed(wait_status));
}

Status AgentLink::why_closed(int wait_status) const {
  if (!broken_.ok()) return broken_;
  std::string text =
      fmt::format("{} {}", command_name_, describe_exit(wait_status));
  if (!greeted_ && exit_code_of(wait_status) == 127)
    text += "; is rondo there? --remote-rondo gives its path";
  return error(Code::kUnavailable, "{}", text);
}

}  // namespace rondo
