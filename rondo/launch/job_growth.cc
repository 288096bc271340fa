// Job, while it grows: ranks are added where a discovery finds room for them.
#include <sys/wait.h>

#include <algorithm>

#include "rondo/launch/job.h"

namespace rondo {

void Job::watch_hosts() {
  discovery_ = std::make_unique<HostDiscovery>(
      *loop_, options_.discovery,
      [this](const auto& found) { take_hosts(found); },
      [this](const std::string& slow) {
        if (!said_slow_)
          output_.say(fmt::format("rondo: --host-discovery-script: {}", slow));
        said_slow_ = true;
      });
  discovery_->begin();
}

// One that has ended well says that there is no more work.
void Job::end_growth() {
  if (one_is_done_ || discovery_ == nullptr) return;
  one_is_done_ = true;
  discovery_->stop();
  if (options_.growth_over) options_.growth_over();
}

// What stems from a job comes to this process when its parent is gone. Those
// that others wait for are left to them, and to the next signal.
void Job::reap_orphans() {
  const auto is_waited_for = [this](pid_t pid) {
    return not_ours_.contains(pid) || discovery_->waits_for(pid) ||
           std::any_of(agents_.begin(), agents_.end(),
                       [pid](const Agent& a) { return a.link->pid() == pid; });
  };
  while (true) {
    siginfo_t ended{};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (ended.si_pid == 0 || is_waited_for(ended.si_pid)) return;
    waitpid(ended.si_pid, nullptr, 0);
  }
}

void Job::take_hosts(const Result<std::vector<Host>>& found) {
  if (ending_ || exit_code_) return discovery_->stop();
  if (!found.ok()) {
    // Once, though it is asked every second.
    if (found.status().message() != last_trouble_)
      output_.say(
          fmt::format("rondo: --host-discovery-script: {}; the job goes "
                      "on as it is",
                      found.status().message()));
    last_trouble_ = found.status().message();
    return;
  }
  said_slow_ = false;
  last_trouble_.clear();
  forget_hosts_but(*found);
  const int running = static_cast<int>(still_running().size());
  const int room =
      std::min(options_.max_ranks - running, kMaxRanks - rank_count());
  for (const HostRanks& more :
       free_slots(*found, slots_used_, rank_count(), room))
    add_ranks(more);
}

void Job::add_ranks(const HostRanks& more) {
  ranks_.resize(ranks_.size() + static_cast<size_t>(more.count));
  output_.grow(more.count);
  const Status status = add_ranks_(more);
  if (status.ok()) {
    output_.say(fmt::format("rondo: adding {} on {}",
                            names_of(*agents_.back().link), more.host));
    return;
  }
  for (int i = 0; i < more.count; ++i)
    ranks_[more.first_rank + i].exited = true;
  slots_used_[more.host] += more.count;
  failed_ranks_ += more.count;
  output_.say("rondo: " + status.message());
}

void Job::forget_hosts_but(const std::vector<Host>& listed) {
  std::erase_if(slots_used_, [&](const auto& used) {
    const auto is_it = [&](const Host& host) {
      return host.name == used.first;
    };
    const auto is_there = [&](const Agent& agent) {
      return agent.link->host() == used.first && !agent.link->closed();
    };
    return std::none_of(listed.begin(), listed.end(), is_it) &&
           std::none_of(agents_.begin(), agents_.end(), is_there);
  });
}

void Job::do_without(const AgentLink& link, const std::string& reason) {
  failed_ranks_ += link.spec().count;
  output_.say(fmt::format("rondo: cannot add {} on {}: {}", names_of(link),
                          link.host(), reason));
}

}  // namespace rondo
