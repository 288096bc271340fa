// ClusterSpec: the jobs of a cluster, the tasks of each, and where each
// listens.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

// Job and number: how a task is named everywhere.
struct RONDO_API TaskName {
  std::string job;
  int index = 0;
  std::string to_string() const;  // "/job:ps/task:0"
  bool operator==(const TaskName&) const = default;
  bool operator<(const TaskName& other) const {
    return std::tie(job, index) < std::tie(other.job, other.index);
  }
};

// A value; the same text on every task of a cluster.
class RONDO_API ClusterSpec {
 public:
  // job -> number -> "host:port". The host is a name, an IPv4 address or an
  // IPv6 address in brackets; port 0 lets the system choose, which only a
  // cluster of one task can use.
  using Jobs = std::map<std::string, std::map<int, std::string>>;

  ClusterSpec() = default;
  static Result<ClusterSpec> from(Jobs jobs);
  // "ps=h0:2222,h1:2222;worker=h2:2222". Space between the parts is ignored.
  static Result<ClusterSpec> parse(std::string_view text);

  const Jobs& jobs() const { return jobs_; }
  // Sorted by job and number.
  std::vector<TaskName> tasks() const;
  // Errors name what there is.
  Result<std::string> address(const TaskName& task) const;
  std::string to_string() const;  // as parse() reads it
  // The same cluster, with `task` at another address.
  ClusterSpec with_address(const TaskName& task, std::string address) const;
  bool operator==(const ClusterSpec&) const = default;

 private:
  Jobs jobs_;
};

// An address's two halves; brackets around an IPv6 host are taken off.
struct HostPort {
  std::string host;
  int port = 0;
  static Result<HostPort> parse(std::string_view text);
  std::string to_string() const;
};

}  // namespace rondo
