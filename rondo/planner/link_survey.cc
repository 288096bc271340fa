#include "rondo/planner/link_survey.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rondo/base/units.h"
#include "rondo/planner/median.h"

namespace rondo {
namespace {

// Less than this share of what others have is more than noise.
constexpr double kMuchSlower = 0.7;

std::string slow_host(const LinkSurvey& survey) {
  size_t slowest = 0;
  for (size_t i = 1; i < survey.hosts.size(); ++i)
    if (survey.rate_of(i) < survey.rate_of(slowest)) slowest = i;
  std::vector<double> others;
  for (size_t i = 0; i < survey.hosts.size(); ++i)
    if (i != slowest) others.push_back(survey.rate_of(i));
  const double usual = median(others);
  if (survey.rate_of(slowest) >= kMuchSlower * usual) return {};
  return fmt::format(
      "The slowest link is that of {}; the others have about {}: all of them "
      "wait for it.\n",
      survey.hosts[slowest], rate_text(usual));
}

std::string slow_pair(const LinkSurvey& survey) {
  const size_t n = survey.hosts.size();
  size_t a = 0, b = 0;
  double least = kMuchSlower;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i + 1; j < n; ++j) {
      const double rate = survey.rates[i * n + j];
      const double share =
          rate / std::min(survey.rate_of(i), survey.rate_of(j));
      if (rate == 0 || share >= least) continue;
      least = share;
      a = i;
      b = j;
    }
  if (b == 0) return {};
  return fmt::format(
      "Between {} and {} there were {} while other pairs sent, too: where "
      "hosts share a thinner link, say so with --racks and --uplink.\n",
      survey.hosts[a], survey.hosts[b], rate_text(survey.rates[a * n + b]));
}

}  // namespace

double LinkSurvey::rate_of(size_t host) const {
  const auto row =
      rates.begin() + static_cast<std::ptrdiff_t>(host * hosts.size());
  return *std::max_element(row,
                           row + static_cast<std::ptrdiff_t>(hosts.size()));
}

double LinkSurvey::link() const {
  double least = rate_of(0);
  for (size_t i = 1; i < hosts.size(); ++i) least = std::min(least, rate_of(i));
  return least;
}

double LinkSurvey::latency() const {
  std::vector<double> measured;
  for (const double one : latencies)
    if (one > 0) measured.push_back(one);
  return median(std::move(measured));
}

std::string to_text(const LinkSurvey& survey) {
  return fmt::format("Measured between {} hosts: {} each way, {} latency\n{}{}",
                     survey.hosts.size(), rate_text(survey.link()),
                     seconds_text(survey.latency()), slow_host(survey),
                     slow_pair(survey));
}

std::string to_json(const LinkSurvey& survey) {
  const nlohmann::ordered_json object = {{"hosts", survey.hosts},
                                         {"rates", survey.rates},
                                         {"latencies", survey.latencies}};
  // A host may have any name.
  return object.dump(-1, ' ', true,
                     nlohmann::ordered_json::error_handler_t::replace);
}

Result<LinkSurvey> parse_link_survey(std::string_view json) {
  LinkSurvey survey;
  try {
    const auto object = nlohmann::json::parse(json);
    object.at("hosts").get_to(survey.hosts);
    object.at("rates").get_to(survey.rates);
    object.at("latencies").get_to(survey.latencies);
  } catch (const nlohmann::json::exception& e) {
    return error(Code::kInternal, "no survey of links: {}", e.what());
  }
  const size_t pairs = survey.hosts.size() * survey.hosts.size();
  if (survey.hosts.size() < 2 || survey.rates.size() != pairs ||
      survey.latencies.size() != pairs)
    return error(Code::kInternal, "a survey of {} hosts has {} pairs, not {}",
                 survey.hosts.size(), pairs, survey.rates.size());
  return survey;
}

}  // namespace rondo
