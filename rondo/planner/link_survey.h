// LinkSurvey: what was measured between the hosts of a job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/status.h"

namespace rondo {

struct LinkSurvey {
  std::vector<std::string> hosts;
  // By pair, host i's and j's at i * hosts.size() + j; 0: nobody measured it.
  std::vector<double> rates;      // bytes a second, each way
  std::vector<double> latencies;  // seconds of a message, one way

  // Of a host's link: what it has with the peer with which it has most.
  double rate_of(size_t host) const;
  // What a plan goes by: the slowest host's rate, and the usual latency.
  double link() const;
  double latency() const;
};

// For people: both numbers, the host whose link is much slower than the others'
// and the pair that has much less than both of its links carry.
std::string to_text(const LinkSurvey& survey);

// From one process to another.
std::string to_json(const LinkSurvey& survey);
Result<LinkSurvey> parse_link_survey(std::string_view json);

}  // namespace rondo
