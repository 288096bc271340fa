#include "rondo/launch/job.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rondo/launch/descendants.h"
#include "rondo/launch/hosts.h"
#include "rondo/launch/local_job.h"

namespace rondo {
namespace {

// After the agents' own SIGKILL: an agent that has not come back by then, or
// the connection to it, is cut.
constexpr Duration kCutOff = std::chrono::milliseconds(1000);
constexpr Duration kGiveUp = std::chrono::milliseconds(1400);

constexpr Duration kLastWords = std::chrono::milliseconds(300);

std::set<pid_t> children_now() {
  std::set<pid_t> pids;
  for (const Process& process : list_descendants()) pids.insert(process.pid);
  return pids;
}

}  // namespace

Result<std::unique_ptr<Job>> Job::create(const JobOptions& options) {
  RONDO_ASSIGN_OR_RETURN(
      SignalWatch signals,
      SignalWatch::start({SIGINT, SIGTERM, SIGCHLD, hang_up()}));
  RONDO_ASSIGN_OR_RETURN(auto loop, EventLoop::create());
  RONDO_ASSIGN_OR_RETURN(auto out, OutputWriter::start(STDOUT_FILENO));
  RONDO_ASSIGN_OR_RETURN(auto err, OutputWriter::start(STDERR_FILENO));
  return std::unique_ptr<Job>(new Job(options, std::move(loop),
                                      std::move(signals), std::move(out),
                                      std::move(err)));
}

Job::Job(const JobOptions& options, std::unique_ptr<EventLoop> loop,
         SignalWatch signals, std::unique_ptr<OutputWriter> out,
         std::unique_ptr<OutputWriter> err)
    : options_(options),
      not_ours_(children_now()),
      loop_(std::move(loop)),
      signals_(std::move(signals)),
      out_(std::move(out)),
      err_(std::move(err)),
      output_(options.ranks + options.servers, options.output, *out_, *err_),
      ranks_(options.ranks + options.servers) {
  // Should the agent on this host be killed, its orphans come here.
  adopt_orphans();
}

Job::~Job() {
  agents_.clear();
  end_leftovers();
}

Status Job::add_host(const std::vector<std::string>& command,
                     const std::string& host, const JobSpec& spec) {
  auto link = AgentLink::start(*loop_, command, host, spec, *this);
  if (!link.ok())
    return link.status().with_context(
        fmt::format("cannot start ranks on {}", host));
  agents_.push_back({std::move(*link), LineSplitter(4096)});
  slots_used_[host] += spec.count;
  return {};
}

Result<int> Job::run() {
  RONDO_RETURN_IF_ERROR(watch());
  while (!all_closed() && !out_of_time_) loop_->run_once();
  // Its timer may still be due: it lives for as long as the loop.
  if (discovery_ != nullptr) discovery_->stop();
  agents_.clear();
  end_leftovers();
  report_last_errors();
  // Whoever reads the output has all the time, unless the job was told to end.
  const Deadline last_words{kLastWords};
  loop_->after(kLastWords, [] {});
  while (out_->queued() + err_->queued() > 0 &&
         !(interrupted_ && last_words.passed()))
    loop_->run_once();
  return exit_code_.value_or(0);
}

Status Job::watch() {
  RONDO_RETURN_IF_ERROR(
      loop_->watch(signals_.fd(), EPOLLIN, [this] { take_signals(); }));
  for (OutputWriter* writer : {out_.get(), err_.get()})
    RONDO_RETURN_IF_ERROR(
        loop_->watch(writer->event_fd(), EPOLLIN,
                     [this, writer] { output_moved(*writer); }));
  if (options_.timeout > Duration::zero())
    loop_->after(options_.timeout, [this] { time_is_up(); });
  if (!options_.discovery.command.empty()) watch_hosts();
  return {};
}

void Job::take_signals() {
  while (const int signal = signals_.next()) {
    if (signal == SIGCHLD)
      loop_->later([this] {
        for (Agent& agent : agents_) agent.link->reap();
        if (discovery_ == nullptr) return;
        discovery_->reap();
        reap_orphans();
      });
    else
      take_signal(signal);
  }
}

void Job::take_signal(int signal) {
  if (interrupted_) {
    // Asked twice: without the time to end well.
    for (Agent& agent : agents_) agent.link->kill();
    return;
  }
  interrupted_ = true;
  decide(128 + signal,
         fmt::format("received SIG{}; ending {}", sigabbrev_np(signal),
                     rank_count() == 1
                         ? std::string("the rank")
                         : fmt::format("all {} ranks", rank_count())));
  end_all();
}

void Job::output_moved(OutputWriter& writer) {
  writer.clear_event();
  if (out_->queued() < OutputWriter::kLow &&
      err_->queued() < OutputWriter::kLow)
    pause_all(false);
  if (out_->broken() && !all_closed() && !ending_) {
    decide(128 + SIGPIPE, "nobody reads standard output any more; ending");
    end_all();
  }
}

void Job::time_is_up() {
  if (all_closed()) return;
  const bool first = decide(
      124,
      fmt::format("time is up after {} s (--timeout); still running: "
                  "ranks {}",
                  to_seconds(options_.timeout), rank_list(still_running())));
  if (first) interrupted_ = true;
  end_all();
}

bool Job::goes_on_without(int failed, const std::string& reason) {
  if (options_.min_ranks == 0 || exit_code_ || ending_) return false;
  const int left = rank_count() - failed_ranks_ - failed;
  if (left < options_.min_ranks) return false;
  failed_ranks_ += failed;
  output_.say(fmt::format("rondo: {}; {} {} on (--min-ranks {})", reason, left,
                          left == 1 ? "rank goes" : "ranks go",
                          options_.min_ranks));
  return true;
}

bool Job::decide(int exit_code, const std::string& reason) {
  if (exit_code_) return false;
  exit_code_ = exit_code;
  output_.say("rondo: " + reason);
  return true;
}

void Job::end_all() {
  if (ending_) return;
  ending_ = true;
  pause_all(false);
  // Servers after the ranks, which may need them to end well.
  const bool idle = still_running().empty();
  for (Agent& agent : agents_)
    if (idle || !is_server(agent.link->spec().first_rank))
      agent.link->terminate();
  loop_->after(options_.term_time + kCutOff, [this] {
    for (Agent& agent : agents_) agent.link->abandon();
  });
  loop_->after(options_.term_time + kGiveUp, [this] { out_of_time_ = true; });
}

void Job::end_idle_servers() {
  if (servers_told_ || !still_running().empty()) return;
  servers_told_ = true;
  const auto for_each_server = [this](auto act) {
    for (Agent& agent : agents_)
      if (has_servers(agent)) act(*agent.link);
  };
  for_each_server([](AgentLink& link) { link.terminate(); });
  // Their hosts may have become unreachable meanwhile.
  // A server has nothing to finish, however long ranks are given.
  const Duration patience = std::min(options_.term_time, kTermTime);
  loop_->after(patience + kCutOff, [=] {
    for_each_server([](AgentLink& link) { link.abandon(); });
  });
  loop_->after(patience + kGiveUp, [this] { servers_given_up_ = true; });
}

std::string Job::name_of(int rank) const {
  return is_server(rank) ? fmt::format("server {}", rank - options_.ranks)
                         : fmt::format("rank {}", rank);
}

std::string Job::how_ended(const AgentLink& link, int rank,
                           int wait_status) const {
  const std::string where =
      link.host() == "localhost" ? "" : " on " + link.host();
  return fmt::format("{} (pid {}{}) {}", name_of(rank), ranks_[rank].pid, where,
                     describe_exit(wait_status));
}

void Job::tell_of_lost_server(int rank, const std::string& why) {
  if (options_.server_lost) options_.server_lost(rank - options_.ranks, why);
}

std::string Job::names_of(const AgentLink& link) const {
  const int first = link.spec().first_rank;
  const bool servers = is_server(first);
  std::vector<int> ranks(link.spec().count);
  std::iota(ranks.begin(), ranks.end(), first - (servers ? options_.ranks : 0));
  return fmt::format("{}{} {}", servers ? "server" : "rank",
                     ranks.size() == 1 ? "" : "s", rank_list(ranks));
}

void Job::pause_all(bool pause) {
  if (pause && ending_) return;
  for (Agent& agent : agents_) agent.link->pause(pause);
}

void Job::on_started(AgentLink&, int rank, pid_t pid) {
  ranks_[rank].pid = pid;
}

void Job::on_output(int rank, Stream stream, std::string_view bytes) {
  const size_t queued = out_->queued() + err_->queued();
  // A reader that has stopped must not keep the job from ending.
  if (ending_ && queued > 2 * OutputWriter::kHigh) return;
  output_.add(rank, stream, bytes);
  if (queued > OutputWriter::kHigh) pause_all(true);
}

void Job::on_exited(AgentLink& link, int rank, int wait_status) {
  output_.flush(rank);
  ranks_[rank].exited = true;
  if (wait_status == 0) end_growth();
  const bool idle = still_running().empty();
  if (idle) end_idle_servers();
  // A server ends when it is told to, and not before.
  if (is_server(rank) ? idle || ending_ : wait_status == 0) return;
  const std::string reason = how_ended(link, rank, wait_status);
  if (is_server(rank)) tell_of_lost_server(rank, describe_exit(wait_status));
  if (!is_server(rank) && goes_on_without(1, reason)) return;
  const int code = wait_status == 0 ? 1 : exit_code_of(wait_status);
  if (!decide(code, reason)) return;
  failed_rank_ = rank;
  loop_->after(options_.grace, [this] {
    if (all_closed() || ending_) return;
    if (const auto late = still_running(); !late.empty())
      output_.say(
          fmt::format("rondo: ending {} {}, still running {} s after {} failed",
                      late.size() == 1 ? "rank" : "ranks", rank_list(late),
                      to_seconds(options_.grace), name_of(*failed_rank_)));
    end_all();
  });
}

void Job::on_restarted(AgentLink& link, int rank, int wait_status, pid_t pid) {
  output_.flush(rank);
  const std::string ended = how_ended(link, rank, wait_status);
  ranks_[rank].pid = pid;
  const int times = ++ranks_[rank].restarts;
  if (ending_ || still_running().empty()) return;
  output_.say(
      fmt::format("rondo: {}; started again as pid {}, restart {} of {} "
                  "(--restart-servers)",
                  ended, pid, times, options_.restart_servers));
}

void Job::on_agent_error(AgentLink& link, std::string_view bytes) {
  for (Agent& agent : agents_) {
    if (agent.link.get() != &link) continue;
    agent.errors.feed(bytes, [&](std::string_view line, bool) {
      output_.say(fmt::format("[{}] {}", link.host(), line));
    });
  }
}

void Job::on_refused(AgentLink& link, int exit_code,
                     const std::string& message) {
  const std::string where =
      link.host() == "localhost" ? "" : " on " + link.host();
  if (is_added(link.spec().first_rank)) return do_without(link, message);
  decide(exit_code,
         fmt::format("cannot start {}{}: {}", names_of(link), where, message));
  end_all();
}

void Job::on_closed(AgentLink& link, const Status& status) {
  for (Agent& agent : agents_)
    if (agent.link.get() == &link)
      if (const std::string rest = agent.errors.take_rest(); !rest.empty())
        output_.say(fmt::format("[{}] {}", link.host(), rest));
  const bool was_idle = still_running().empty();
  bool started = false;
  int lost = 0;
  int lost_servers = 0;
  for (int i = 0; i < link.spec().count; ++i) {
    const int number = link.spec().first_rank + i;
    Rank& rank = ranks_[number];
    started = started || rank.pid != 0;
    if (!rank.exited) ++(is_server(number) ? lost_servers : lost);
    if (!rank.exited && is_server(number) && !was_idle)
      tell_of_lost_server(number,
                          fmt::format("its host {} was lost", link.host()));
    rank.exited = true;
  }
  end_idle_servers();
  if (status.ok()) return;
  // The ranks had all that they needed of it.
  const bool needless = was_idle && is_server(link.spec().first_rank);
  const std::string reason =
      fmt::format("{} {} on {}: {}", started ? "lost" : "cannot start",
                  names_of(link), link.host(), status.message());
  if (needless && !exit_code_) return output_.say("rondo: " + reason);
  if (!started && is_added(link.spec().first_rank))
    return do_without(link, status.message());
  if (started && lost_servers == 0 && goes_on_without(lost, reason)) return;
  decide(255, reason);
  loop_->after(started ? options_.grace : Duration::zero(),
               [this] { end_all(); });
}

bool Job::all_closed() const {
  return std::all_of(agents_.begin(), agents_.end(), [this](const Agent& a) {
    return a.link->closed() || (servers_given_up_ && has_servers(a));
  });
}

std::vector<int> Job::still_running() const {
  std::vector<int> running;
  for (int rank = 0; rank < rank_count(); ++rank)
    if (!ranks_[rank].exited) running.push_back(rank);
  return running;
}

void Job::report_last_errors() {
  if (!failed_rank_) return;
  const auto lines = output_.last_errors(*failed_rank_);
  if (lines.empty()) return;
  output_.say(fmt::format("rondo: the last that {} wrote to stderr:",
                          name_of(*failed_rank_)));
  for (const std::string& line : lines) output_.say("    " + line);
}

// Only where an agent on this host was killed is there anything left.
void Job::end_leftovers() {
  const Deadline deadline{std::chrono::milliseconds(500)};
  while (!deadline.passed()) {
    const auto left = list_descendants(not_ours_);
    if (left.empty()) return;
    for (const Process& process : left) ::kill(process.pid, SIGKILL);
    usleep(5000);
  }
}

}  // namespace rondo
