#include "rondo/launch/agent.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "rondo/launch/descendants.h"
#include "rondo/launch/local_job.h"
#include "rondo/launch/output_writer.h"
#include "rondo/launch/signals.h"

namespace rondo {
namespace {

// How long the launcher has to take what is left after it asked for the end.
constexpr Duration kLastWords = std::chrono::milliseconds(500);

class Agent : public LocalJob::Listener {
 public:
  Agent(int in, EventLoop& loop, OutputWriter& out, SignalWatch& signals)
      : in_(in), loop_(loop), out_(out), signals_(signals) {}

  Result<int> run() {
    out_.write(kAgentHello);
    RONDO_RETURN_IF_ERROR(loop_.watch(in_, EPOLLIN, [this] { read_input(); }));
    RONDO_RETURN_IF_ERROR(
        loop_.watch(signals_.fd(), EPOLLIN, [this] { take_signals(); }));
    RONDO_RETURN_IF_ERROR(
        loop_.watch(out_.event_fd(), EPOLLIN, [this] { output_moved(); }));
    while (!finished_) loop_.run_once();
    out_.write(encode_frame(FrameType::kDone));
    if (ending_) limit_last_words();
    while (out_.queued() > 0 && !gave_up_) loop_.run_once();
    return exit_code_;
  }

  void on_started(int rank, pid_t pid) override {
    std::string payload;
    put_u32(payload, static_cast<uint32_t>(pid));
    out_.write(encode_frame(FrameType::kStarted, rank, payload));
  }
  void on_output(int rank, Stream stream, std::string_view bytes) override {
    out_.write(encode_frame(FrameType::kOutput, rank, bytes, stream));
    if (job_ != nullptr && out_.queued() > OutputWriter::kHigh)
      job_->pause_output(true);
  }
  void on_exited(int rank, int wait_status) override {
    std::string payload;
    put_u32(payload, static_cast<uint32_t>(wait_status));
    out_.write(encode_frame(FrameType::kExited, rank, payload));
  }
  void on_restarted(int rank, int wait_status, pid_t pid) override {
    std::string payload;
    put_u32(payload, static_cast<uint32_t>(wait_status));
    put_u32(payload, static_cast<uint32_t>(pid));
    out_.write(encode_frame(FrameType::kRestarted, rank, payload));
  }
  void on_finished() override { finished_ = true; }

 private:
  void read_input() {
    char chunk[1 << 16];
    const ssize_t got = read(in_, chunk, sizeof chunk);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      loop_.forget(in_);
      end();
      return;
    }
    frames_.feed(std::string_view(chunk, static_cast<size_t>(got)));
    Frame frame;
    while (true) {
      const Result<bool> whole = frames_.next(&frame);
      if (!whole.ok()) return fail(whole.status(), 255);
      if (!*whole) return;
      handle(frame);
    }
  }

  void handle(const Frame& frame) {
    if (frame.type == FrameType::kJob && job_ == nullptr)
      start(frame.payload);
    else if (frame.type == FrameType::kTerminate)
      end();
    else if (frame.type == FrameType::kKill && job_ != nullptr)
      job_->kill();
  }

  void start(const std::string& payload) {
    auto spec = decode_job_spec(payload);
    if (!spec.ok()) return fail(spec.status(), 255);
    auto job = LocalJob::start(loop_, *spec, *this);
    // As a shell has it: 127 for what is not there, 126 for what cannot run.
    if (!job.ok())
      return fail(job.status(),
                  job.status().code() == Code::kInvalidArgument ? 127 : 126);
    job_ = std::move(*job);
  }

  void fail(const Status& status, int exit_code) {
    std::string payload;
    put_u32(payload, static_cast<uint32_t>(exit_code));
    out_.write(encode_frame(FrameType::kFailed, 0, payload + status.message()));
    exit_code_ = exit_code;
    end();
  }

  void end() {
    ending_ = true;
    if (job_ != nullptr)
      job_->terminate();
    else
      finished_ = true;
    if (finished_) limit_last_words();
  }

  void limit_last_words() {
    loop_.after(kLastWords, [this] { gave_up_ = true; });
  }

  void take_signals() {
    while (const int signal = signals_.next()) {
      // Exits that were seen as events of their own come first, in the order
      // in which they happened.
      if (signal == SIGCHLD)
        loop_.later([this] {
          if (job_ != nullptr) job_->reap();
        });
      else
        end();
    }
  }

  void output_moved() {
    out_.clear_event();
    if (job_ != nullptr && out_.queued() < OutputWriter::kLow)
      job_->pause_output(false);
  }

  const int in_;
  EventLoop& loop_;
  OutputWriter& out_;
  SignalWatch& signals_;
  FrameReader frames_;
  std::unique_ptr<LocalJob> job_;
  int exit_code_ = 0;
  bool ending_ = false;
  bool finished_ = false;
  bool gave_up_ = false;
};

}  // namespace

Result<int> run_agent(int in, int out) {
  ensure_standard_streams();
  signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
  RONDO_ASSIGN_OR_RETURN(
      SignalWatch signals,
      SignalWatch::start({SIGINT, SIGTERM, SIGHUP, SIGCHLD}));
  RONDO_ASSIGN_OR_RETURN(auto loop, EventLoop::create());
  RONDO_ASSIGN_OR_RETURN(auto writer, OutputWriter::start(out));
  Agent agent(in, *loop, *writer, signals);
  return agent.run();
}

}  // namespace rondo
