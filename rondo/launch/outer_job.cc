#include "rondo/launch/outer_job.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace rondo {
namespace {

constexpr int64_t kMaxNodes = 1 << 16;
// Steps from here on are Slurm's own: the batch script, the shell of salloc.
constexpr int64_t kFirstSpecialStep = 0xfffffff0;

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc() || rest != end || value < 0) return std::nullopt;
  return value;
}

Status malformed(std::string_view what, std::string_view text) {
  return error(Code::kInvalidArgument,
               "{} '{}' from Slurm cannot be read; give "
               "the hosts with --hosts",
               what, text);
}

// The parts of `text` between commas outside brackets.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    } else {
      depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    }
  }
  return parts;
}

// "01-03" as 01, 02, 03: numbers keep the width of the first.
std::optional<std::vector<std::string>> expand_range(std::string_view range) {
  const size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const auto low = number(first);
  const auto high =
      dash == std::string_view::npos ? low : number(range.substr(dash + 1));
  if (!low || !high || *low > *high || *high - *low >= kMaxNodes)
    return std::nullopt;
  std::vector<std::string> numbers;
  for (int64_t i = *low; i <= *high; ++i)
    numbers.push_back(fmt::format("{:0{}}", i, first.size()));
  return numbers;
}

bool in_step(const Env& env) {
  const auto text = env.get("SLURM_STEP_ID");
  if (!text) return false;
  const auto step = number(*text);
  return !step || *step < kFirstSpecialStep;
}

}  // namespace

OuterJob detect_outer_job(const Env& env) {
  if (env.has("OMPI_COMM_WORLD_RANK") || env.has("PMI_RANK"))
    return OuterJob::kRank;
  // A batch script has SLURM_PROCID too, but is nobody's rank.
  const bool allocation =
      env.has("SLURM_JOB_ID") && env.has("SLURM_JOB_NODELIST");
  if (env.has("SLURM_PROCID") && (in_step(env) || !allocation))
    return OuterJob::kRank;
  if (allocation && !in_step(env)) return OuterJob::kSlurmAllocation;
  return OuterJob::kNone;
}

Result<std::vector<std::string>> expand_nodelist(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view part : split(text)) {
    std::vector<std::string> heads = {""};
    while (!part.empty()) {
      const size_t open = std::min(part.find('['), part.size());
      for (std::string& head : heads) head += part.substr(0, open);
      part.remove_prefix(open);
      if (part.empty()) break;
      const size_t close = part.find(']');
      if (close == std::string_view::npos) return malformed("node list", text);
      std::vector<std::string> longer;
      for (const std::string& head : heads)
        for (std::string_view range : split(part.substr(1, close - 1))) {
          const auto numbers = expand_range(range);
          if (!numbers || longer.size() + numbers->size() > kMaxNodes)
            return malformed("node list", text);
          for (const std::string& n : *numbers) longer.push_back(head + n);
        }
      heads = std::move(longer);
      part.remove_prefix(close + 1);
    }
    for (std::string& head : heads) {
      if (head.empty()) return malformed("node list", text);
      names.push_back(std::move(head));
    }
  }
  return names;
}

Result<std::vector<int>> expand_counts(std::string_view text) {
  std::vector<int> counts;
  for (std::string_view part : split(text)) {
    const size_t open = part.find("(x");
    const auto count = number(part.substr(0, open));
    std::optional<int64_t> times = 1;
    if (open != std::string_view::npos) {
      if (!part.ends_with(')')) return malformed("count", text);
      times = number(part.substr(open + 2, part.size() - open - 3));
    }
    if (!count || !times || *count < 1 || *count > kMaxRanks ||
        *times > kMaxNodes)
      return malformed("count", text);
    counts.insert(counts.end(), static_cast<size_t>(*times),
                  static_cast<int>(*count));
  }
  return counts;
}

Result<std::vector<Host>> slurm_hosts(const Env& env) {
  RONDO_ASSIGN_OR_RETURN(const auto names,
                         expand_nodelist(env.get_or("SLURM_JOB_NODELIST", "")));
  const std::string text = env.get_or(
      "SLURM_TASKS_PER_NODE", env.get_or("SLURM_JOB_CPUS_PER_NODE", "1"));
  RONDO_ASSIGN_OR_RETURN(const auto counts, expand_counts(text));
  std::vector<Host> hosts;
  for (size_t i = 0; i < names.size(); ++i)
    hosts.push_back({names[i], counts[std::min(i, counts.size() - 1)]});
  return hosts;
}

}  // namespace rondo
