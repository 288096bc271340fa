#include "rondo/cluster/cluster_spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace rondo {
namespace {

std::string_view trimmed(std::string_view text) {
  const char* blank = " \t\r\n";
  const size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool is_job_name(std::string_view name) {
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '-';
         });
}

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (const auto& [name, rest] : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

}  // namespace

std::string TaskName::to_string() const {
  return fmt::format("/job:{}/task:{}", job, index);
}

Result<HostPort> HostPort::parse(std::string_view text) {
  const auto bad = [&] {
    return error(Code::kInvalidArgument,
                 "\"{}\" is no address of a task: expected host:port, such as "
                 "node3:2222, 10.0.0.3:2222 or [fd00::3]:2222",
                 text);
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  HostPort made;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const auto [end, ec] =
      std::from_chars(port.data(), port.data() + port.size(), made.port);
  if (ec != std::errc() || end != port.data() + port.size() || made.port < 0 ||
      made.port > 65535)
    return bad();
  if (host.front() == '[') {
    if (host.size() < 4 || host.back() != ']') return bad();
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) return bad();
  } else if (!std::all_of(host.begin(), host.end(), [](unsigned char c) {
               return std::isalnum(c) || c == '.' || c == '-' || c == '_';
             })) {
    return bad();
  }
  made.host = host;
  return made;
}

std::string HostPort::to_string() const {
  return host.find(':') == std::string::npos
             ? fmt::format("{}:{}", host, port)
             : fmt::format("[{}]:{}", host, port);
}

Result<ClusterSpec> ClusterSpec::from(Jobs jobs) {
  if (jobs.empty())
    return error(
        Code::kInvalidArgument,
        "the cluster has no job: give one with at least one task, such "
        "as worker=localhost:2222");
  std::map<std::string, TaskName> taken;
  size_t tasks = 0;
  for (const auto& [job, addresses] : jobs) {
    if (!is_job_name(job))
      return error(
          Code::kInvalidArgument,
          "\"{}\" is no name of a job: use letters, digits, _ and -, a "
          "letter first",
          job);
    if (addresses.empty())
      return error(Code::kInvalidArgument, "job \"{}\" has no task", job);
    for (const auto& [index, address] : addresses) {
      const TaskName task{job, index};
      if (index < 0)
        return error(Code::kInvalidArgument,
                     "job \"{}\" has a task {}: numbers begin at 0", job,
                     index);
      auto parsed = HostPort::parse(address);
      if (!parsed.ok()) return parsed.status().with_context(task.to_string());
      ++tasks;
      if (parsed->port == 0) continue;
      const auto [at, fresh] = taken.emplace(parsed->to_string(), task);
      if (!fresh)
        return error(Code::kInvalidArgument,
                     "{} and {} have the same address, {}: each task needs one "
                     "of its own",
                     at->second.to_string(), task.to_string(), address);
    }
  }
  if (tasks > 1 && taken.size() < tasks)
    return error(Code::kInvalidArgument,
                 "a task has port 0: the others could not find it; only the "
                 "one task of a cluster can leave its port open");
  ClusterSpec made;
  made.jobs_ = std::move(jobs);
  return made;
}

Result<ClusterSpec> ClusterSpec::parse(std::string_view text) {
  Jobs jobs;
  for (std::string_view part : split(text, ';')) {
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return error(Code::kInvalidArgument,
                   "\"{}\" is no job: expected name=host:port,host:port", part);
    const std::string job(trimmed(part.substr(0, equals)));
    if (jobs.contains(job))
      return error(Code::kInvalidArgument,
                   "job \"{}\" is given twice: put all of its tasks into one "
                   "list",
                   job);
    auto& tasks = jobs[job];
    for (std::string_view address : split(part.substr(equals + 1), ','))
      tasks.emplace(static_cast<int>(tasks.size()), address);
  }
  return from(std::move(jobs));
}

std::vector<TaskName> ClusterSpec::tasks() const {
  std::vector<TaskName> names;
  for (const auto& [job, addresses] : jobs_)
    for (const auto& [index, address] : addresses)
      names.push_back({job, index});
  return names;
}

Result<std::string> ClusterSpec::address(const TaskName& task) const {
  const auto job = jobs_.find(task.job);
  if (job == jobs_.end())
    return error(Code::kInvalidArgument,
                 "the cluster has no job \"{}\"; it has: {}", task.job,
                 listed(jobs_));
  const auto at = job->second.find(task.index);
  if (at == job->second.end())
    return error(Code::kInvalidArgument,
                 "job \"{}\" has no task {}; it has: {}", task.job, task.index,
                 listed(job->second));
  return at->second;
}

std::string ClusterSpec::to_string() const {
  std::string text;
  for (const auto& [job, addresses] : jobs_) {
    text += fmt::format("{}{}=", text.empty() ? "" : ";", job);
    bool first = true;
    for (const auto& [index, address] : addresses) {
      text += fmt::format("{}{}", first ? "" : ",", address);
      first = false;
    }
  }
  return text;
}

ClusterSpec ClusterSpec::with_address(const TaskName& task,
                                      std::string address) const {
  ClusterSpec other = *this;
  other.jobs_[task.job][task.index] = std::move(address);
  return other;
}

}  // namespace rondo
