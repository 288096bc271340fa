// Running a whole job: what `rondo run` does.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/status.h"
#include "rondo/launch/host_discovery.h"
#include "rondo/launch/hosts.h"
#include "rondo/transport/socket.h"

namespace rondo {

struct LaunchOptions {
  std::vector<std::string> argv;  // the program and its arguments
  // Where the ranks run. A host named "localhost" is this one, without ssh.
  std::vector<HostRanks> hosts;
  // Parameter servers, in turn on these hosts.
  int servers = 0;
  // How often each is started again after a signal ended it; above 0, servers
  // keep a log to go on from, in a folder of the job's own within `server_log`
  // (empty: $TMPDIR, or /tmp), which goes with the job.
  int restart_servers = 0;
  std::string server_log;
  // Variables for every rank, on every host. The launcher's own RONDO_
  // variables are handed to every host as well.
  std::map<std::string, std::string> environment;
  std::string directory;  // to start in; empty: the current one where it exists
  std::string interface;  // RONDO_INTERFACE; empty: see run_job()
  std::string port_range;  // RONDO_PORT_RANGE, and for the store
  Duration timeout{0};     // of the whole job; 0: none
  Duration grace = std::chrono::seconds(5);  // for the others, after a failure
  // Between asking the ranks to end and making them; a second signal to the
  // launcher does not wait for it.
  Duration term_time = std::chrono::seconds(3);
  // That go on when others have failed, for programs that meet again; 0: all.
  int min_ranks = 0;
  // With a program that prints the hosts that the job may use: while the job
  // runs, ranks are added where it names more slots than before, while fewer
  // than `max_ranks` run. Their environment has RONDO_ADDED. Not with servers.
  HostDiscoveryOptions discovery;
  int max_ranks = kMaxRanks;
  bool prefix = true;
  // Whether prefixes may be coloured where the output is a terminal.
  bool colour = true;

  // How remote hosts are reached: `ssh_command ... HOST rondo remote-agent`,
  // or, with `use_srun`, `srun ... --nodelist=HOST rondo remote-agent`.
  std::vector<std::string> ssh_command = {"ssh"};
  bool use_srun = false;
  std::string remote_rondo;  // empty: the path of this command
};

// Runs the job to its end and returns its exit code: 0 when every rank returned
// 0 (or failed and left `min_ranks` others), otherwise that of the first rank
// that failed (128 + signal), 124 after the time-out, 128 + signal when the
// launcher was told to end, 255 when a host could not be reached, 126 or 127
// when the program cannot be started. What went wrong is on standard error. No
// process of the job is left when it returns.
//
// Serves the job's store. A job on this host alone uses the loopback interface
// unless `interface` says otherwise, so nothing listens on the network.
//
// Called from the main thread: it handles SIGINT, SIGTERM and SIGHUP meanwhile
// and reads and writes the process's standard streams. Returns an error, with
// nothing started, when the options cannot work.
Result<int> run_job(const LaunchOptions& options);

}  // namespace rondo
