// Job: watches the agents of a job and decides how it ends.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rondo/launch/agent_link.h"
#include "rondo/launch/host_discovery.h"
#include "rondo/launch/rank_output.h"
#include "rondo/launch/signals.h"

namespace rondo {

struct JobOptions {
  int ranks = 1;
  // Parameter servers: processes behind the ranks, numbered on, that are ended
  // when the ranks are over.
  int servers = 0;
  int restart_servers = 0;  // how often each, for what is said
  // Told of a server that is gone for good while ranks need it, and why.
  std::function<void(int server, const std::string& why)> server_lost;
  int min_ranks = 0;  // that go on without those that failed; 0: all
  // Finds the hosts that the job may use; without a command it does not grow.
  // There are no servers then.
  HostDiscoveryOptions discovery;
  // Told once when a rank has ended well, and the job grows no more.
  std::function<void()> growth_over;
  int max_ranks = kMaxRanks;  // that run at a time
  Duration timeout{0};        // 0: none
  Duration grace{0};
  Duration term_time = kTermTime;
  RankOutputOptions output;
};

// The first thing that goes wrong decides the exit code and is told at once;
// what follows from it is not told again. A rank whose failure leaves
// `min_ranks` others is told of, and decides nothing. Used from the thread that
// made it.
class Job : private AgentLink::Listener {
 public:
  // From here on SIGINT, SIGTERM and SIGHUP wait for run().
  static Result<std::unique_ptr<Job>> create(const JobOptions& options);
  // Leaves no process of the job behind.
  ~Job() override;

  // Starts the agent that runs `spec` on `host`.
  Status add_host(const std::vector<std::string>& command,
                  const std::string& host, const JobSpec& spec);
  // While the job runs, `add` starts ranks by add_host() where the discovery
  // finds slots that no rank has had.
  using AddRanks = std::function<Status(const HostRanks&)>;
  void grow_by(AddRanks add) { add_ranks_ = std::move(add); }
  // Until every agent is gone; the job's exit code.
  Result<int> run();

 private:
  struct Rank {
    pid_t pid = 0;
    bool exited = false;
    int restarts = 0;
  };
  struct Agent {
    std::unique_ptr<AgentLink> link;
    LineSplitter errors;
  };

  Job(const JobOptions& options, std::unique_ptr<EventLoop> loop,
      SignalWatch signals, std::unique_ptr<OutputWriter> out,
      std::unique_ptr<OutputWriter> err);

  void on_started(AgentLink& link, int rank, pid_t pid) override;
  void on_output(int rank, Stream stream, std::string_view bytes) override;
  void on_exited(AgentLink& link, int rank, int wait_status) override;
  void on_restarted(AgentLink& link, int rank, int wait_status,
                    pid_t pid) override;
  void on_agent_error(AgentLink& link, std::string_view bytes) override;
  void on_refused(AgentLink& link, int exit_code,
                  const std::string& message) override;
  void on_closed(AgentLink& link, const Status& status) override;

  Status watch();
  void take_signals();
  void take_signal(int signal);
  void output_moved(OutputWriter& writer);
  void time_is_up();
  // Whether the job goes on without these ranks too, which it then says.
  bool goes_on_without(int failed, const std::string& reason);
  // Decides the outcome, unless it is decided.
  bool decide(int exit_code, const std::string& reason);
  // Ends every agent: asks, then insists, then is over with it.
  void end_all();
  // Ends the servers, once there are no ranks for them.
  void end_idle_servers();
  bool is_server(int rank) const {
    return options_.servers > 0 && rank >= options_.ranks;
  }
  // All that were ever started, without servers.
  int rank_count() const {
    return static_cast<int>(ranks_.size()) - options_.servers;
  }
  bool has_servers(const Agent& agent) const {
    return is_server(agent.link->spec().first_rank);
  }
  // "rank 3", "server 1".
  std::string name_of(int rank) const;
  // "rank 3 (pid 812 on b) was killed by signal 9 (Killed)".
  std::string how_ended(const AgentLink& link, int rank, int wait_status) const;
  void tell_of_lost_server(int rank, const std::string& why);
  // "ranks 0-3", "server 1": all of an agent's.
  std::string names_of(const AgentLink& link) const;
  void pause_all(bool pause);
  bool all_closed() const;
  std::vector<int> still_running() const;  // ranks
  void report_last_errors();
  void end_leftovers();
  // Growing: in job_growth.cc.
  void watch_hosts();
  void end_growth();
  // Of what a discovery or an agent that was lost has left behind.
  void reap_orphans();
  void take_hosts(const Result<std::vector<Host>>& found);
  void add_ranks(const HostRanks& more);
  // A host that is not listed any more may come back as a new one.
  void forget_hosts_but(const std::vector<Host>& listed);
  bool is_added(int rank) const {
    return options_.servers == 0 && rank >= options_.ranks;
  }
  // Ranks that were to be added and cannot be.
  void do_without(const AgentLink& link, const std::string& reason);

  const JobOptions options_;
  int failed_ranks_ = 0;            // of those that the job goes on without
  const std::set<pid_t> not_ours_;  // children from before the job
  std::unique_ptr<EventLoop> loop_;
  SignalWatch signals_;
  std::unique_ptr<OutputWriter> out_;
  std::unique_ptr<OutputWriter> err_;
  RankOutput output_;
  std::vector<Rank> ranks_;
  std::vector<Agent> agents_;
  AddRanks add_ranks_;
  std::unique_ptr<HostDiscovery> discovery_;
  std::map<std::string, int> slots_used_;  // by host
  std::string last_trouble_;               // of the discovery
  bool said_slow_ = false;                 // that it is, since its last answer
  bool one_is_done_ = false;               // a rank has ended well
  std::optional<int> exit_code_;
  std::optional<int> failed_rank_;
  bool ending_ = false;
  bool interrupted_ = false;
  bool out_of_time_ = false;
  bool servers_told_ = false;      // to end, since no rank needs them
  bool servers_given_up_ = false;  // they had their time for it
};

}  // namespace rondo
